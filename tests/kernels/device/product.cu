// Contractions: sums of doubles by a simple kernel, with a bound for each, and cuBLAS beside.
#include "blas.h"
#include "tools.h"

#include <cmath>
#include <limits>
#include <memory>

// Of n terms with random errors of rounding: n u is never exceeded, and 8 sqrt(n) u hardly ever (Higham and Mary, A new
// approach to probabilistic rounding error analysis, 2019, theorem 2.4). Three more are for alpha, beta and their sum.
template <class T> static double relative_bound(int n)
{
    return 8 * std::sqrt(n + 3.0) * std::numeric_limits<T>::epsilon() / 2;
}

template <class T>
__global__ void add_up(Contraction of, double relative, const T *a, const T *b, const T *before, double *sums, double *bounds)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= of.ni || j >= of.nj) return;
    const size_t at = (size_t)i * of.nj + j;
    const size_t next_a = of.a_along_k ? 1 : of.ni, next_b = of.b_along_k ? 1 : of.nj;
    const T *x = a + (of.a_along_k ? (size_t)i * of.nk : i), *y = b + (of.b_along_k ? (size_t)j * of.nk : j);
    double sum = 0, size = 0;
    for (int k = 0; k < of.nk; ++k, x += next_a, y += next_b) {
        sum = fma((double)*x, (double)*y, sum);
        size = fma(fabs((double)*x), fabs((double)*y), size);
    }
    const double old = of.beta * before[at];
    const bool computed = !of.triangle || j <= i;
    sums[at] = computed ? of.alpha * sum + old : before[at];
    bounds[at] = computed ? relative * (fabs(of.alpha) * size + fabs(old)) : 0;
}

template <class T>
__global__ void count_far(const T *c, const double *sums, const double *bounds, size_t count, unsigned long long *bad)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    unsigned long long found = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
        found += !(fabs(c[i] - sums[i]) <= bounds[i]);
    if (found) atomicAdd(bad, found);
}

template <class T> class Expected {
public:
    Expected(const Contraction &of, const Memory<T> &a, const Memory<T> &b, const Memory<T> &before)
        : sums_(before.count()), bounds_(before.count())
    {
        const dim3 block(32, 8), grid((of.nj + 31) / 32, (of.ni + 7) / 8);
        add_up<<<grid, block>>>(of, relative_bound<T>(of.nk), (const T *)a, (const T *)b, (const T *)before,
                                (double *)sums_, (double *)bounds_);
        check(cudaDeviceSynchronize(), "the simple kernel");
    }

    unsigned long long far(const Memory<T> &c) const
    {
        Memory<unsigned long long> bad(1);
        bad.set(0);
        count_far<<<2048, 256>>>((const T *)c, (const double *)sums_, (const double *)bounds_, c.count(),
                                 (unsigned long long *)bad);
        check(cudaDeviceSynchronize(), "comparison");
        return bad.values()[0];
    }

private:
    Memory<double> sums_, bounds_;
};

template <class T>
static void compare_and_time(const Launched &launched, const Contraction &of,
                             std::function<void(const T *, const T *, T *)> run)
{
    const uint64_t seed = fresh_seed();
    const size_t elements = (size_t)of.ni * of.nj;
    Memory<T> a((size_t)of.ni * of.nk), of_b(of.triangle ? 1 : (size_t)of.nk * of.nj), before(elements), c(elements);
    const Memory<T> &b = of.triangle ? a : of_b;
    const Blas blas;
    prepare(launched);
    fill(a, seed);
    fill(of_b, split_mix(seed));
    fill(before, split_mix(seed + 1));
    const Expected<T> expected(of, a, b, before);
    const auto launch = [&] {
        run(a, b, c);
        check(cudaGetLastError(), "launch");
    };
    const auto launch_blas = [&] { blas.run(of, (const T *)a, (const T *)b, (T *)c); };
    const auto bad_of = [&](const std::function<void()> &way) {
        c.from(before);
        way();
        return expected.far(c);
    };
    unsigned long long bad = bad_of(launch);
    const unsigned long long bad_blas = blas.loaded() ? bad_of(launch_blas) : 0;
    std::vector<std::function<void()>> ways = {launch};
    if (blas.loaded()) ways.push_back(launch_blas);
    c.from(before);
    const std::vector<Times> times = time_all(ways, 30000);
    bad += bad_of(launch);
    const double products = of.triangle ? elements / 2 + of.ni / 2 : elements, work = 2 * products * of.nk * 1e-9;
    print_times(launched, times[0]);
    std::printf(", \"tflops\": %.2f", work / times[0].median());
    if (blas.loaded())
        std::printf(", \"cublas_ms\": %.5f, \"cublas_tflops\": %.2f, \"ratio\": %.4f, \"cublas_bad\": %llu", times[1].median(),
                    work / times[1].median(), times[1].median() / times[0].median(), bad_blas);
    std::printf(", \"seed\": %llu, \"compared\": %zu, \"bad\": %llu}\n", (unsigned long long)seed, 2 * elements, bad);
}

template <class T>
void measure(const Launched &launched, const Contraction &contraction, std::function<void(const T *, const T *, T *)> run)
{
    report(launched, [&] { compare_and_time(launched, contraction, run); });
}

template void measure(const Launched &, const Contraction &, std::function<void(const float *, const float *, float *)>);
template void measure(const Launched &, const Contraction &, std::function<void(const double *, const double *, double *)>);
