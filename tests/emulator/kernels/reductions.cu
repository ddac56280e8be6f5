// Sums of a block's values: in shared memory with a barrier per step, with dynamic shared memory, and with shuffles.
#include <cuda_runtime.h>

__global__ void sum_static(const double *x, double *sums, int n) {
  __shared__ double partial[128];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  partial[t] = i < n ? x[i] : 0.0;
  __syncthreads();
#pragma unroll
  for (int step = 64; step > 0; step /= 2) {
    if (t < step) partial[t] += partial[t + step];
    __syncthreads();
  }
  if (t == 0) sums[blockIdx.x] = partial[0];
}

__global__ void sum_dynamic(const double *x, double *sums, int n) {
  extern __shared__ __align__(16) double buffer[];
  double *partial = buffer;
  int *order = reinterpret_cast<int *>(buffer + blockDim.x);
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  order[t] = blockDim.x - 1 - t;
  __syncthreads();
  partial[order[t]] = i < n ? x[i] : 0.0;
  __syncthreads();
  if (t == 0) {
    double sum = 0.0;
    for (int u = blockDim.x - 1; u >= 0; --u) sum += partial[u];
    sums[blockIdx.x] = sum;
  }
}

template <class T>
__device__ __forceinline__ T warp_sum(T value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}

template <class T>
__global__ void __launch_bounds__(256) sum_shuffle(const T *__restrict__ x, T *__restrict__ sums, int n) {
  __shared__ T of_warp[8];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  T value = warp_sum(i < n ? x[i] : T(0));
  if (t % 32 == 0) of_warp[t / 32] = value;
  __syncthreads();
  if (t >= 32) return;
  value = warp_sum(t < 8 ? of_warp[t] : T(0));
  if (t == 0) sums[blockIdx.x] = value;
}

static cudaLaunchConfig_t configure(int n, int threads, size_t shared) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((n + threads - 1) / threads);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared;
  return config;
}

template <class T, class Kernel>
static cudaError_t run(Kernel kernel, cudaLaunchConfig_t config, const T *x, T *sums, int n) {
  T *device_x = nullptr, *device_sums = nullptr;
  cudaError_t error = cudaMalloc(&device_x, n * sizeof(T));
  if (error == cudaSuccess) error = cudaMalloc(&device_sums, config.gridDim.x * sizeof(T));
  if (error == cudaSuccess) error = cudaMemcpy(device_x, x, n * sizeof(T), cudaMemcpyHostToDevice);
  if (error == cudaSuccess) error = cudaLaunchKernelEx(&config, kernel, (const T *)device_x, device_sums, n);
  if (error == cudaSuccess)
    error = cudaMemcpy(sums, device_sums, config.gridDim.x * sizeof(T), cudaMemcpyDeviceToHost);
  cudaFree(device_x);
  cudaFree(device_sums);
  return error;
}

extern "C" int reduce_static(const double *x, double *sums, int n) {
  return run(sum_static, configure(n, 128, 0), x, sums, n);
}
extern "C" int reduce_dynamic(const double *x, double *sums, int n) {
  return run(sum_dynamic, configure(n, 128, 128 * 12), x, sums, n);
}
extern "C" int reduce_shuffle(const double *x, double *sums, int n) {
  return run(sum_shuffle<double>, configure(n, 256, 0), x, sums, n);
}
extern "C" int reduce_shuffle_float(const float *x, float *sums, int n) {
  return run(sum_shuffle<float>, configure(n, 256, 0), x, sums, n);
}
