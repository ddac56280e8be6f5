#include <cuda_runtime.h>

__global__ void where(unsigned *out, dim3 extent) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
  const unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
  __syncwarp();
  if (x >= extent.x || y >= extent.y || z >= extent.z) return;
  __syncthreads();
  out[(z * extent.y + y) * extent.x + x] = x + 100 * y + 10000 * z + 1000000 * (gridDim.x + gridDim.y + gridDim.z);
}

extern "C" int fill_where(unsigned *out, unsigned x, unsigned y, unsigned z) {
  unsigned *device = nullptr;
  cudaMalloc(&device, sizeof(unsigned) * x * y * z);
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((x + 6) / 7, (y + 2) / 3, (z + 1) / 2);
  config.blockDim = dim3(7, 3, 2);
  cudaError_t error = cudaLaunchKernelEx(&config, where, device, dim3(x, y, z));
  if (error == cudaSuccess)
    error = cudaMemcpy(out, device, sizeof(unsigned) * x * y * z, cudaMemcpyDeviceToHost);
  cudaFree(device);
  return error;
}

__global__ void touch(unsigned long long *count) {
  if (threadIdx.x == 0) *count += 1;
}

__global__ void step(double *x, int rounds) {
  __shared__ double s[256];
  for (int r = 0; r < rounds; ++r) {
    s[threadIdx.x] = r;
    __syncthreads();
  }
  x[threadIdx.x] = s[threadIdx.x];
}

__global__ void exchange(double *x, int rounds) {
  double v = threadIdx.x;
  for (int r = 0; r < rounds; ++r) v += __shfl_xor_sync(~0u, v, 1);
  x[threadIdx.x] = v;
}

static int run_rounds(void (*kernel)(double *, int), int blocks, int rounds) {
  double *x = nullptr;
  cudaMalloc(&x, 256 * sizeof(double));
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(256);
  cudaError_t error = cudaLaunchKernelEx(&config, kernel, x, rounds);
  cudaDeviceSynchronize();
  cudaFree(x);
  return error;
}
extern "C" int run_steps(int blocks, int rounds) { return run_rounds(step, blocks, rounds); }
extern "C" int run_exchanges(int blocks, int rounds) { return run_rounds(exchange, blocks, rounds); }

// The time of the launch in nanoseconds, or a negative error.
extern "C" double many_blocks(int blocks, int threads) {
  unsigned long long *count = nullptr, seen = 0;
  cudaMalloc(&count, sizeof seen);
  cudaMemset(count, 0, sizeof seen);
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  cudaEventRecord(start);
  cudaError_t error = cudaLaunchKernelEx(&config, touch, count);
  cudaEventRecord(stop);
  cudaEventSynchronize(stop);
  float milliseconds = 0;
  cudaEventElapsedTime(&milliseconds, start, stop);
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  cudaMemcpy(&seen, count, sizeof seen, cudaMemcpyDeviceToHost);
  cudaFree(count);
  return error != cudaSuccess ? -double(error) : milliseconds * 1e6;
}
