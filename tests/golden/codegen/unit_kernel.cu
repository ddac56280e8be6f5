// unit_kernel.cu: written by hand
// for a test
#include "unit_kernel.h"

#include <cuda_runtime.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

// The quotient of a division by a positive number, rounded down.
template <typename A, typename C> __host__ __device__ __forceinline__ auto polytile_floord(A a, C c) -> decltype(a / c)
{
    return a / c - (a % c < 0);
}

template <typename A, typename B> __host__ __device__ __forceinline__ auto polytile_min(A a, B b) -> decltype(a + b)
{
    return a < b ? a : b;
}

// axpy.c:5-8, classic schedule
// i -> blockIdx.x, threadIdx.x
extern "C" __global__ void __launch_bounds__(128) kernel_axpy_0(int n, double a, double *__restrict__ z,
        const double *__restrict__ x, const double *__restrict__ y)
{
    const int bx = blockIdx.x;
    const int tx = threadIdx.x;

    for (int i = 128 * bx + tx; i < n; i += 524288) {
        z[i] = x[i] + a * y[i];  // axpy.c:7
    }
}

// jacobi.c:4
extern "C" __global__ void __launch_bounds__(256) jacobi_0(int n, int m, double *__restrict__ B,
        const double *__restrict__ A)
{
    const int by = blockIdx.y;
    const int bx = blockIdx.x;
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;

    for (int i = 8 * by + ty + 1; i < n - 1; i += 524280) {
        for (int j = 32 * bx + tx + 1; j < m - 1; j += 32768) {
            if (i <= n - 2 && j <= m - 2) {
                B[(long long)i * m + j] = 0.2 * (A[(long long)(i - 1) * m + j] + A[(long long)i * m + j] +
                        A[(long long)i * m + j - 1] + A[(long long)i * m + j + 1] + A[(long long)(i + 1) * m + j]);  // jacobi.c:4
            }
        }
    }
}

// jacobi.c:7
extern "C" __global__ void __launch_bounds__(256) jacobi_1(int n, int m, double *__restrict__ A,
        const double *__restrict__ B)
{
    const int by = blockIdx.y;
    const int bx = blockIdx.x;
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;

    for (int i = 8 * by + ty + 1; i < n - 1; i += 524280) {
        for (int j = 32 * bx + tx + 1; j < m - 1; j += 32768) {
            if (i <= n - 2 && j <= m - 2) {
                A[(long long)i * m + j] = B[(long long)i * m + j];  // jacobi.c:7
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(128) sum_0(int n, double *__restrict__ s,
        const double *__restrict__ x)
{
    const int tx = threadIdx.x;
    __shared__ double s_partial[128];
    double sum;

    sum = 0.0;
    for (int i = tx; i < n; i += 128) {
        sum += x[i];  // sum.c:3
    }
    s_partial[tx] = sum;
    __syncthreads();  // all of partial[] is written
    if (tx == 0) {
        for (int k = 0; k < 128; ++k) {
            s[0] += s_partial[k];  // sum.c:3
        }
    }
}

extern "C" __global__ void __launch_bounds__(128) dynamic_sum_0(int n, double *__restrict__ s,
        const double *__restrict__ x)
{
    const int tx = threadIdx.x;
    extern __shared__ __align__(16) unsigned char polytile_shared[];
    double (&s_partial)[128] = *(double (*)[128])(polytile_shared + 0);
    double (&s_padding)[8000] = *(double (*)[8000])(polytile_shared + 1024);
    double sum;

    s_padding[tx + 7872] = 1.0;
    sum = 0.0;
    for (int i = tx; i < n; i += 128) {
        sum += x[i];  // sum.c:3
    }
    s_partial[tx] = sum;
    __syncthreads();  // all of partial[] is written
    if (tx == 0) {
        for (int k = 0; k < 128; ++k) {
            s[0] += s_partial[k];  // sum.c:3
        }
    }
}

namespace polytile_structs_types {

struct point { double x; bool flag; double polytile_new; };

extern "C" __global__ void __launch_bounds__(64) structs_0(int n, struct point *__restrict__ p,
        struct point o)
{
    const int bx = blockIdx.x;
    const int tx = threadIdx.x;

    if (64 * bx + tx < n) {
        p[64 * bx + tx].polytile_new += o.x;
    }
}

}  // namespace polytile_structs_types

extern "C" __global__ void __launch_bounds__(32) float_math_0(int n, float *__restrict__ polytile_new,
        const float *__restrict__ x)
{
    const int bx = blockIdx.x;
    const int tx = threadIdx.x;

    if (32 * bx + tx < n) {
        polytile_new[32 * bx + tx] = sqrt((double)x[32 * bx + tx]) + fabsf(x[32 * bx + tx]);  // f.c:3
    }
}

extern "C" __global__ void __launch_bounds__(1) count_0(int n, long *__restrict__ c,
        const double *__restrict__ x, bool on)
{
    for (long long i = 0; i < n; ++i) {
        if (x[i] > 0 && on) {
            c[0] += 1;  // count.c:4
        }
    }
}

extern "C" __global__ void __launch_bounds__(10) window_0(int n, double *__restrict__ x)
{
    const int tx = threadIdx.x;

    x[n + tx] += 1.0;  // window.c:3
}

// Shared by the entry points of all files.
namespace polytile_entry_points {

inline thread_local bool inside = false;  // whether this thread is in one of them

// A function of the driver, as it has been since this version of CUDA; nullptr where the driver has none.
template <typename Function> Function driver_function(const char *name, unsigned version)
{
    void *found = nullptr;
#if CUDART_VERSION >= 12050
    const cudaError_t asked = cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault);
#else
    (void)version;
    const cudaError_t asked = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault);
#endif
    if (asked == cudaSuccess) return (Function)found;
    cudaGetLastError();
    return nullptr;
}

// The number of the CUDA context that this thread uses, 0 where there is none yet. cudaDeviceReset ends a context with
// all that was made in it, and the next one has another number. Drivers before CUDA 12 number devices alone.
inline unsigned long long context()
{
    static const auto identify = driver_function<int (*)(void *, unsigned long long *)>("cuCtxGetId", 12000);
    unsigned long long found = 0;
    int device = 0;
    if (identify != nullptr) return identify(nullptr, &found) == 0 ? found : 0;
    return cudaGetDevice(&device) == cudaSuccess ? 1 + (unsigned long long)device : 0;
}

inline cudaMemPool_t new_pool()
{
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t made = nullptr;
    size_t left = 0, all = 0;
    if (cudaGetDevice(&properties.location.id) == cudaSuccess && cudaMemGetInfo(&left, &all) == cudaSuccess &&
        cudaMemPoolCreate(&made, &properties) == cudaSuccess) {
        unsigned long long kept = all / 16;
        if (cudaMemPoolSetAttribute(made, cudaMemPoolAttrReleaseThreshold, &kept) == cudaSuccess) return made;
    }
    cudaGetLastError();  // this device has no pools
    return nullptr;
}

// Memory that CUDA keeps for the next call, because cudaMalloc and cudaFree take longer than short kernels: up to one
// 16th of the device's. nullptr where there is none.
inline cudaMemPool_t pool()
{
    static std::mutex &one_at_a_time = *new std::mutex;  // whoever ends the process may still call
    static std::map<unsigned long long, cudaMemPool_t> &pools = *new std::map<unsigned long long, cudaMemPool_t>;
    const unsigned long long now = context();
    if (now == 0) return nullptr;
    const std::lock_guard<std::mutex> guard(one_at_a_time);
    const auto found = pools.find(now);
    return found != pools.end() ? found->second : pools[now] = new_pool();
}
}  // namespace polytile_entry_points

// Shared by the entry points below.
namespace polytile_axpy_support {

// A number of elements or bytes that knows whether computing it overflowed.
struct PolytileSize {
    long long value;
    bool overflow;

    PolytileSize(long long size, bool overflowed = false) : value(size), overflow(overflowed) {}

    friend PolytileSize operator+(PolytileSize a, PolytileSize b)
    {
        const bool over = __builtin_add_overflow(a.value, b.value, &a.value);
        return PolytileSize(a.value, over || a.overflow || b.overflow);
    }

    friend PolytileSize operator-(PolytileSize a, PolytileSize b)
    {
        const bool over = __builtin_sub_overflow(a.value, b.value, &a.value);
        return PolytileSize(a.value, over || a.overflow || b.overflow);
    }

    friend PolytileSize operator*(PolytileSize a, PolytileSize b)
    {
        const bool over = __builtin_mul_overflow(a.value, b.value, &a.value);
        return PolytileSize(a.value, over || a.overflow || b.overflow);
    }
};

// Whether kernels may run: not for a signal handler amid an entry point, whose kernels it would wait for without end, nor
// in a process that was forked from one that has used CUDA, where each call of CUDA's fails.
class PolytileTurn {
public:
    PolytileTurn() : mine(!polytile_entry_points::inside && usable())
    {
        if (mine) polytile_entry_points::inside = true;
    }

    PolytileTurn(const PolytileTurn &) = delete;
    PolytileTurn &operator=(const PolytileTurn &) = delete;

    ~PolytileTurn()
    {
        if (mine) polytile_entry_points::inside = false;
    }

    const bool mine;

private:
    static bool usable()
    {
        int device;
        return cudaGetDevice(&device) != cudaErrorInitializationError;
    }
};

// One run of a SCoP. The first failure is reported on stderr and turns everything after it into nothing.
class PolytileRun {
public:
    explicit PolytileRun(const char *entry) : name(entry)
    {
        const char *wish = std::getenv("POLYTILE_TIMING");
        timing = wish != nullptr && *wish != '\0' && *wish != '0';
    }

    PolytileRun(const PolytileRun &) = delete;
    PolytileRun &operator=(const PolytileRun &) = delete;

    ~PolytileRun()
    {
        if (begin != nullptr) cudaEventDestroy(begin);
        if (end != nullptr) cudaEventDestroy(end);
    }

    bool ok() const { return status == 0; }

    void fail(const char *subject, const char *reason)
    {
        if (ok()) std::fprintf(stderr, "polytile: %s: %s: %s\n", name, subject, reason);
        status = 1;
    }

    void overlap(const char *array, const char *other)
    {
        if (ok()) std::fprintf(stderr, "polytile: %s: %s and %s overlap: pass arrays that do not\n", name, array, other);
        status = 1;
    }

    void check(cudaError_t error, const char *action, const char *object)
    {
        if (error == cudaSuccess) return;
        if (ok()) std::fprintf(stderr, "polytile: %s: %s %s failed: %s\n", name, action, object, cudaGetErrorString(error));
        status = 1;
    }

    // The kernels follow.
    void start()
    {
        if (!timing || !ok()) return;
        check(cudaEventCreate(&begin), "creating", "an event");
        check(cudaEventCreate(&end), "creating", "an event");
        if (ok()) check(cudaEventRecord(begin), "recording", "an event");
    }

    // Launches a kernel unless its grid is empty; it strides over what lies beyond the limits of y and z.
    template <typename... Parameters, typename... Arguments>
    void launch(const char *kernel_name, void (*kernel)(Parameters...), long long x, long long y, long long z,
                dim3 block, size_t shared, Arguments... arguments)
    {
        if (!ok() || x <= 0 || y <= 0 || z <= 0) return;
        if (x > 2147483647) return fail(kernel_name, "the grid has more than 2147483647 blocks in x");
        const bool fit[] = {true, fits<Parameters>(arguments)...};
        for (bool argument_fits : fit)
            if (!argument_fits) return fail(kernel_name, "a size does not fit in the kernel's 32-bit integers");
        if (shared > 0)
            check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared), kernel_name,
                  "shared memory");
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3((unsigned)x, (unsigned)(y < 65535 ? y : 65535), (unsigned)(z < 65535 ? z : 65535));
        config.blockDim = block;
        config.dynamicSmemBytes = shared;
        if (ok()) check(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), "launch of", kernel_name);
    }

    // Waits for the kernels, not for the device, of which other threads may record launches.
    void finish()
    {
        if (timing && ok()) check(cudaEventRecord(end), "recording", "an event");
        if (ok()) check(cudaStreamSynchronize(nullptr), "running", "the kernels");
    }

    int result()
    {
        float kernels = 0;
        if (timing && ok()) check(cudaEventElapsedTime(&kernels, begin, end), "reading", "the time");
        if (timing && ok()) std::fprintf(stderr, "polytile: %s: kernels %.3f ms, transfers %.3f ms\n", name, kernels, transfers);
        return status;
    }

    void copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, const char *object)
    {
        const auto before = std::chrono::steady_clock::now();
        check(cudaMemcpy(to, from, bytes, kind), "copy of", object);
        transfers += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before).count();
    }

private:
    template <typename Parameter> static bool fits(long long value) { return (long long)static_cast<Parameter>(value) == value; }
    template <typename Parameter, typename Argument> static bool fits(const Argument &) { return true; }

    const char *name;
    int status = 0;
    bool timing = false;
    double transfers = 0;
    cudaEvent_t begin = nullptr, end = nullptr;
};

// The device copy of an array, or the array itself when it is on the device already.
class PolytileBuffer {
public:
    PolytileBuffer(PolytileRun &owner, const char *array, const void *argument, size_t element, PolytileSize from,
                   PolytileSize elements)
        : run(owner), name(array), host((uintptr_t)argument)
    {
        const PolytileSize size = elements * (long long)element, skip = from * (long long)element;
        if (size.overflow || skip.overflow) run.fail(name, "its size does not fit in 64 bits");
        offset = (uintptr_t)skip.value;
        bytes = size.value > 0 ? (size_t)size.value : 0;
    }

    PolytileBuffer(const PolytileBuffer &) = delete;
    PolytileBuffer &operator=(const PolytileBuffer &) = delete;

    ~PolytileBuffer()
    {
        if (pooled) cudaFreeAsync(memory, nullptr);
        else
        if (memory != nullptr) cudaFree(memory);
    }

    // What the kernels get: the address of element 0.
    void *base() const { return (void *)device; }

    void must_not_overlap(const PolytileBuffer &other) const
    {
        const uintptr_t here = host + offset, there = other.host + other.offset;
        if (bytes == 0 || other.bytes == 0) return;
        if (here < there + other.bytes && there < here + bytes) run.overlap(name, other.name);
    }

    // Memory that only the kernels see.
    void take()
    {
        if (!run.ok() || bytes == 0) return;
        cudaMemPool_t pool = polytile_entry_points::pool();
        if (pool == nullptr) return allocate();
        if (cudaMallocFromPoolAsync(&memory, bytes, pool, nullptr) == cudaSuccess) {
            device = (uintptr_t)memory - offset;
            pooled = true;
            return;
        }
        cudaGetLastError();
        memory = nullptr;
        cudaMemPoolTrimTo(pool, 0);  // the pool may hold what is missing
        allocate();
    }

    void allocate()
    {
        if (!run.ok() || bytes == 0) return;
        run.check(cudaMalloc(&memory, bytes), "cudaMalloc of", name);
        device = (uintptr_t)memory - offset;
    }

    // Memory for the argument, unless it is on the device.
    void attach()
    {
        if (!run.ok() || bytes == 0) return;
        if (host == 0) return run.fail(name, "the argument is a null pointer");
        cudaPointerAttributes where = {};
        run.check(cudaPointerGetAttributes(&where, (const void *)(host + offset)), "looking up", name);
        if (where.type == cudaMemoryTypeDevice || where.type == cudaMemoryTypeManaged) device = host;
        else allocate();
    }

    void copy_in()
    {
        if (!run.ok() || memory == nullptr) return;
        const void *from = (const void *)(host + offset);
        run.copy(memory, from, bytes, cudaMemcpyHostToDevice, name);
    }

    void copy_out()
    {
        if (run.ok() && memory != nullptr) run.copy((void *)(host + offset), memory, bytes, cudaMemcpyDeviceToHost, name);
    }

private:
    PolytileRun &run;
    const char *name;
    uintptr_t host, offset = 0, device = 0;
    size_t bytes = 0;
    void *memory = nullptr;
    bool pooled = false;
};

}  // namespace polytile_axpy_support

using namespace polytile_axpy_support;

// axpy.c:5-8: classic schedule, one kernel
extern "C" int polytile_axpy(int n_argument, double *z, const double *x, const double *y, double a)
{
    const PolytileTurn turn;
    if (!turn.mine) return 2;
    const long long n = n_argument;
    PolytileRun run("polytile_axpy");
    PolytileBuffer device_z(run, "z", z, sizeof(double), 0, PolytileSize(n));
    PolytileBuffer device_x(run, "x", x, sizeof(double), 0, PolytileSize(n));
    PolytileBuffer device_y(run, "y", y, sizeof(double), 0, PolytileSize(n));
    device_z.must_not_overlap(device_x);
    device_z.must_not_overlap(device_y);
    device_z.attach();
    device_x.attach();
    device_x.copy_in();
    device_y.attach();
    device_y.copy_in();

    run.start();
    run.launch("kernel_axpy_0", kernel_axpy_0, polytile_min(polytile_floord(n + 127, 128), 4096), 1, 1,
            dim3(128, 1, 1), 0, n, a, device_z.base(), device_x.base(), device_y.base());
    run.finish();

    device_z.copy_out();
    return run.result();
}

// jacobi.c:2-9: classic schedule, the time loop runs on the host
extern "C" int polytile_jacobi(int t_argument, int n_argument, int m_argument, double *A)
{
    const PolytileTurn turn;
    if (!turn.mine) return 2;
    const long long t = t_argument;
    const long long n = n_argument;
    const long long m = m_argument;
    PolytileRun run("polytile_jacobi");
    PolytileBuffer device_A(run, "A", A, sizeof(double), 0, PolytileSize(n) * m);
    PolytileBuffer device_B(run, "B", nullptr, sizeof(double), 0, PolytileSize(n) * m);
    device_A.attach();
    device_A.copy_in();
    device_B.take();

    run.start();
    for (long long c0 = 0; c0 < t; ++c0) {
        run.launch("jacobi_0", jacobi_0, polytile_floord(m - 2 + 31, 32), polytile_floord(n - 2 + 7, 8), 1,
                dim3(32, 8, 1), 0, n, m, device_B.base(), device_A.base());
        // A is read by jacobi_0 and written by jacobi_1
        run.launch("jacobi_1", jacobi_1, polytile_floord(m - 2 + 31, 32), polytile_floord(n - 2 + 7, 8), 1,
                dim3(32, 8, 1), 0, n, m, device_A.base(), device_B.base());
    }
    run.finish();

    device_A.copy_out();
    return run.result();
}

extern "C" int polytile_sum(int n_argument, double *s, const double *x)
{
    const PolytileTurn turn;
    if (!turn.mine) return 2;
    const long long n = n_argument;
    PolytileRun run("polytile_sum");
    PolytileBuffer device_s(run, "s", s, sizeof(double), 0, 1);
    PolytileBuffer device_x(run, "x", x, sizeof(double), 0, PolytileSize(n));
    device_s.attach();
    device_s.copy_in();
    device_x.attach();
    device_x.copy_in();

    run.start();
    run.launch("sum_0", sum_0, 1, 1, 1, dim3(128, 1, 1), 0, n, device_s.base(), device_x.base());
    run.finish();

    device_s.copy_out();
    return run.result();
}

extern "C" int polytile_dynamic_sum(int n_argument, double *s, const double *x)
{
    const PolytileTurn turn;
    if (!turn.mine) return 2;
    const long long n = n_argument;
    PolytileRun run("polytile_dynamic_sum");
    PolytileBuffer device_s(run, "s", s, sizeof(double), 0, 1);
    PolytileBuffer device_x(run, "x", x, sizeof(double), 0, PolytileSize(n));
    device_s.attach();
    device_s.copy_in();
    device_x.attach();
    device_x.copy_in();

    run.start();
    run.launch("dynamic_sum_0", dynamic_sum_0, 1, 1, 1, dim3(128, 1, 1), 65024, n, device_s.base(),
            device_x.base());
    run.finish();

    device_s.copy_out();
    return run.result();
}

namespace polytile_structs_types {

extern "C" int polytile_structs(int n_argument, void *p, const void *o_argument)
{
    const PolytileTurn turn;
    if (!turn.mine) return 2;
    const long long n = n_argument;
    const struct point o = *(const struct point *)o_argument;
    PolytileRun run("polytile_structs");
    PolytileBuffer device_p(run, "p", p, sizeof(struct point), 0, PolytileSize(n));
    device_p.attach();
    device_p.copy_in();

    run.start();
    run.launch("structs_0", structs_0, polytile_floord(n + 63, 64), 1, 1, dim3(64, 1, 1), 0, n, device_p.base(),
            o);
    run.finish();

    device_p.copy_out();
    return run.result();
}

}  // namespace polytile_structs_types

extern "C" int polytile_float_math(int n_argument, float *polytile_new, const float *x)
{
    const PolytileTurn turn;
    if (!turn.mine) return 2;
    const long long n = n_argument;
    PolytileRun run("polytile_float_math");
    PolytileBuffer device_new(run, "new", polytile_new, sizeof(float), 0, PolytileSize(n));
    PolytileBuffer device_x(run, "x", x, sizeof(float), 0, PolytileSize(n));
    device_new.attach();
    device_x.attach();
    device_x.copy_in();

    run.start();
    run.launch("float_math_0", float_math_0, polytile_floord(n + 31, 32), 1, 1, dim3(32, 1, 1), 0, n,
            device_new.base(), device_x.base());
    run.finish();

    device_new.copy_out();
    return run.result();
}

extern "C" int polytile_count(long n_argument, long *c, const double *x, bool on)
{
    const PolytileTurn turn;
    if (!turn.mine) return 2;
    const long long n = n_argument;
    PolytileRun run("polytile_count");
    PolytileBuffer device_c(run, "c", c, sizeof(long), 0, 1);
    PolytileBuffer device_x(run, "x", x, sizeof(double), 0, PolytileSize(n));
    device_c.must_not_overlap(device_x);
    device_c.attach();
    device_c.copy_in();
    device_x.attach();
    device_x.copy_in();

    run.start();
    run.launch("count_0", count_0, 1, 1, 1, dim3(1, 1, 1), 0, n, device_c.base(), device_x.base(), on);
    run.finish();

    device_c.copy_out();
    return run.result();
}

extern "C" int polytile_window(int n_argument, double *x)
{
    const PolytileTurn turn;
    if (!turn.mine) return 2;
    const long long n = n_argument;
    PolytileRun run("polytile_window");
    PolytileBuffer device_x(run, "x", x, sizeof(double), PolytileSize(n), 10);
    device_x.attach();
    device_x.copy_in();

    run.start();
    run.launch("window_0", window_0, 1, 1, 1, dim3(10, 1, 1), 0, n, device_x.base());
    run.finish();

    device_x.copy_out();
    return run.result();
}
