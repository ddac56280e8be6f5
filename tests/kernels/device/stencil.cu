// Stencils: the same terms in the same order by a simple kernel, one step a launch.
#include "tools.h"

__device__ double multiply(double a, double b) { return __dmul_rn(a, b); }
__device__ float multiply(float a, float b) { return __fmul_rn(a, b); }
__device__ double multiply_add(double a, double b, double c) { return __fma_rn(a, b, c); }
__device__ float multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }

template <class T> struct Shape {
    int planes, rows, columns, radius, terms;
    const long long *offsets;
    const T *coefficients;
};

__device__ bool inside(int i, int extent, int radius) { return i >= radius && i < extent - radius; }

template <class T> __global__ void step(Shape<T> shape, const T *a, T *b)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, z = blockIdx.z, r = shape.radius;
    if (x >= shape.columns) return;
    const T *cell = a + ((size_t)z * shape.rows + y) * shape.columns + x;
    T sum = *cell;
    if (inside(x, shape.columns, r) && inside(y, shape.rows, r) && (shape.planes == 1 || inside(z, shape.planes, r))) {
        sum = multiply(shape.coefficients[0], cell[shape.offsets[0]]);
        for (int k = 1; k < shape.terms; ++k) sum = multiply_add(shape.coefficients[k], cell[shape.offsets[k]], sum);
    }
    b[cell - a] = sum;
}

template <class T> void expect(const Stencil<T> &stencil, const Memory<T> &start, Memory<T> &result, Memory<T> &other)
{
    const auto [planes, rows, columns] = stencil.extent;
    std::vector<long long> at(stencil.terms);
    for (int k = 0; k < stencil.terms; ++k) {
        const int *d = stencil.at + 3 * k;
        at[k] = ((long long)d[0] * rows + d[1]) * columns + d[2];
    }
    Memory<long long> offsets(at.size());
    Memory<T> coefficients(at.size());
    offsets.from(at.data());
    coefficients.from(stencil.coefficients);
    const Shape<T> shape = {planes, rows, columns, stencil.radius, stencil.terms, offsets, coefficients};
    const dim3 grid((columns + 255) / 256, rows, planes);
    const T *from = start;
    for (int s = stencil.steps; s > 0; --s) {
        T *to = s % 2 ? result : other;
        step<<<grid, 256>>>(shape, from, to);
        from = to;
    }
    check(cudaDeviceSynchronize(), "the simple kernel");
}

template <class T>
static void compare_and_time(const Launched &launched, const Stencil<T> &stencil, std::function<void(const T *, T *)> run)
{
    const auto [planes, rows, columns] = stencil.extent;
    const size_t cells = (size_t)planes * rows * columns;
    const uint64_t seed = fresh_seed();
    Memory<T> a(cells), b(cells), expected(cells), other(cells);
    prepare(launched);
    fill(a, seed);
    expect(stencil, a, expected, other);
    const auto launch = [&] {
        run(a, b);
        check(cudaGetLastError(), "launch");
    };
    b.set(0xff);
    launch();
    unsigned long long bad = unequal(b, expected);
    b.set(0xff);
    const Times times = time_all({launch}, 10000)[0];
    bad += unequal(b, expected);
    print_times(launched, times);
    std::printf(", \"gcells_s\": %.2f, \"seed\": %llu, \"compared\": %zu, \"bad\": %llu}\n",
                (double)cells * stencil.steps / times.median() * 1e-6, (unsigned long long)seed, 2 * cells, bad);
}

template <class T>
void measure(const Launched &launched, const Stencil<T> &stencil, std::function<void(const T *, T *)> run)
{
    report(launched, [&] { compare_and_time(launched, stencil, run); });
}

template void measure(const Launched &, const Stencil<float> &, std::function<void(const float *, float *)>);
template void measure(const Launched &, const Stencil<double> &, std::function<void(const double *, double *)>);
