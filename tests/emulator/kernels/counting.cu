// Kernels whose requests, sectors, wavefronts and divergence can be told by hand.
#include <cuda_runtime.h>

namespace {

// Copies `in` to the device, runs one kernel on one or more blocks, copies `out` back.
struct Run {
    void *in = nullptr, *out = nullptr;
    void *host_out;
    size_t out_bytes;
    int error;

    Run(const void *host_in, size_t in_bytes, void *host, size_t bytes) : host_out(host), out_bytes(bytes)
    {
        error = cudaMalloc(&in, in_bytes);
        if (!error) error = cudaMalloc(&out, out_bytes);
        if (!error) error = cudaMemcpy(in, host_in, in_bytes, cudaMemcpyHostToDevice);
        if (!error) error = cudaMemcpy(out, host_out, out_bytes, cudaMemcpyHostToDevice);
    }

    template <class... Parameters, class... Arguments>
    int launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared, Arguments... arguments)
    {
        cudaLaunchConfig_t config = {};
        config.gridDim = grid;
        config.blockDim = block;
        config.dynamicSmemBytes = shared;
        if (!error) error = cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
        if (!error) error = cudaMemcpy(host_out, out, out_bytes, cudaMemcpyDeviceToHost);
        cudaFree(in);
        cudaFree(out);
        return error;
    }
};

}  // namespace

#define HOST(name)                                                                                             \
    extern "C" int run_##name(const void *in, size_t in_bytes, void *out, size_t out_bytes, int blocks, int x, \
                              int y, int n, int m)                                                             \
    {                                                                                                          \
        Run run(in, in_bytes, out, out_bytes);                                                                 \
        return run.launch(name, dim3(blocks), dim3(x, y), 32 * 1024, run.in, run.out, n, m);                   \
    }

// out[t] = in[n + m * t].
#define COPY(name, T)                                                     \
    extern "C" __global__ void name(const T *in, T *out, int n, int m)    \
    {                                                                     \
        const int t = blockIdx.x * blockDim.x + threadIdx.x;              \
        out[t] = in[n + m * t];                                           \
    }                                                                     \
    HOST(name)
COPY(copy_float, float)
COPY(copy_double, double)
COPY(copy_float4, float4)
COPY(copy_double2, double2)

// Several loads on one line.
extern "C" __global__ void neighbours(const double *in, double *out, int, int)
{
    out[threadIdx.x] = in[threadIdx.x] + in[threadIdx.x + 1] + in[threadIdx.x + 4];
}
HOST(neighbours)

// Only the first n threads do something.
extern "C" __global__ void copy_some(const double *in, double *out, int n, int)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    out[t] = in[t];
}
HOST(copy_some)

// Rows of m elements, by threads (x, y).
extern "C" __global__ void copy_rows(const double *in, double *out, int, int m)
{
    out[threadIdx.y * m + threadIdx.x] = in[threadIdx.y * m + threadIdx.x];
}
HOST(copy_rows)

// Each thread writes and reads element n + m * t of shared memory.
#define SHARED(name, T)                                                    \
    extern "C" __global__ void name(const float *in, T *out, int n, int m) \
    {                                                                      \
        __shared__ T words[1400];                                          \
        const int t = threadIdx.x;                                         \
        words[n + m * t] = T{};                                            \
        __syncthreads();                                                   \
        out[t] = words[n + m * t];                                         \
    }                                                                      \
    HOST(name)
SHARED(shared_float, float)
SHARED(shared_double, double)
SHARED(shared_float4, float4)

// A tile is written by rows and read by columns: tile[x][y] of n = 32 or 33 columns.
extern "C" __global__ void transpose(const float *in, float *out, int n, int)
{
    extern __shared__ float tile[];
    const int x = threadIdx.x, y = threadIdx.y;
    tile[y * n + x] = in[y * 32 + x];
    __syncthreads();
    out[y * 32 + x] = tile[x * n + y];
}
HOST(transpose)

// In iteration k lane t is guarded by in[32 * k + t] > 0.
extern "C" __global__ void guarded(const double *in, double *out, int n, int)
{
    const int t = threadIdx.x;
    double sum = 0;
    for (int k = 0; k < n; ++k) {
        if (in[32 * k + t] > 0) sum += out[64 + 40 * k + t];
        sum += out[64 + k];
    }
    out[t] = sum;
}
HOST(guarded)

extern "C" __global__ void either(const double *in, double *out, int n, int)
{
    const int t = threadIdx.x;
    double sum = 0;
    for (int k = 0; k < n; ++k) {
        if ((t + k) % 3 == 0)
            sum += in[t];
        else
            sum -= in[2 * t];
    }
    out[t] = sum;
}
HOST(either)

// Lane t makes t iterations.
extern "C" __global__ void triangle(const double *in, double *out, int, int)
{
    const int t = threadIdx.x;
    double sum = 0;
    for (int k = 0; k < t; ++k) sum += in[k * 32 + t];
    out[t] = sum;
}
HOST(triangle)

// In iteration i, (t + i) % m inner ones; loads in between must stay together.
extern "C" __global__ void ragged(const double *in, double *out, int n, int m)
{
    const int t = threadIdx.x;
    double sum = 0;
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < (t + i) % m; ++j) sum += in[j * 32 + t];
        sum *= in[i];
    }
    out[t] = sum;
}
HOST(ragged)

// Lane t leaves after t iterations, or goes on early in iterations that t does not divide.
extern "C" __global__ void leaving(const double *in, double *out, int n, int)
{
    const int t = threadIdx.x;
    double sum = 0;
    for (int k = 1; k < n; ++k) {
        if (k > t) break;
        sum += in[k];
        if (t % k != 0) continue;
        sum += in[64 + t];
    }
    out[t] = sum;
}
HOST(leaving)

// As long as the data say.
extern "C" __global__ void chase(const double *in, double *out, int, int)
{
    int at = threadIdx.x, steps = 0;
    while (in[at] >= 0) {
        at = (int)in[at];
        ++steps;
    }
    out[threadIdx.x] = steps;
}
HOST(chase)

// Some threads return at once; the others exchange values, n times.
extern "C" __global__ void exchange(const double *in, double *out, int n, int m)
{
    __shared__ double left[64];
    const int t = threadIdx.x;
    if (t >= m) return;
    double value = in[t];
    for (int k = 0; k < n; ++k) {
        left[t] = value;
        __syncthreads();
        value = left[(t + 1) % m];
        if (t < k) value += in[t];
        __syncthreads();
    }
    out[t] = value;
}
HOST(exchange)

// Traces that are longer than what the emulator keeps, with warps that wait for each other.
extern "C" __global__ void longer(const double *in, double *out, int n, int m)
{
    const int t = threadIdx.x;
    double sum = 0;
    for (int k = 0; k < n; ++k) {
        if ((t * 7 + k) % 5 < 2) sum += in[t];
        if (k % m == m - 1) __syncwarp();
        if (k % (2 * m) == 0) __syncthreads();
        for (int j = 0; j < (t + k) % 3; ++j) sum += in[j];
    }
    out[t] = sum;
}
HOST(longer)

// The upper half of a warp meets in each iteration, the lower one goes on.
extern "C" __global__ void halves(const double *in, double *out, int n, int m)
{
    const int t = threadIdx.x;
    double sum = 0;
    for (int k = 0; k < n; ++k) {
        if (t % 32 >= 16) {
            sum += in[t];
            __syncwarp(0xffff0000u);
            sum += in[k % m];
        }
        sum += in[64 + k % m];
    }
    out[t] = sum;
}
HOST(halves)

__device__ __attribute__((noinline)) double total(const double *in, int n)
{
    double sum = 0;
    for (int k = 0; k < n; ++k) sum += in[k];
    return sum;
}

// Calls a function twice, with other trip counts in each lane.
extern "C" __global__ void calling(const double *in, double *out, int n, int m)
{
    const int t = threadIdx.x;
    for (int k = 0; k < n; ++k)
        if (t % 2 == 0) out[t] = total(in, t % m) + total(in, 2);
    out[t] += in[t];
}
HOST(calling)

extern "C" __global__ void histogram(const double *in, double *out, int n, int)
{
    __shared__ unsigned bins[32];
    const int t = threadIdx.x;
    bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[(int)in[t] % n], 1u);
    __syncthreads();
    atomicAdd(&out[t % n], (double)bins[t]);
}
HOST(histogram)

// A local array and arguments are no memory that is counted.
extern "C" __global__ void local(const double *in, double *out, int n, int m)
{
    double kept[8];
    for (int k = 0; k < 8; ++k) kept[k] = in[k * 32 + threadIdx.x];
    out[threadIdx.x] = kept[n] + kept[m];
}
HOST(local)
