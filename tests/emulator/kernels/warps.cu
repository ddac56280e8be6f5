#include <cuda_runtime.h>

// Every shuffle and vote, in columns of `out`; `halves` splits the warp into two groups that do not wait for each other.
__global__ void shuffles(long long *out, int width) {
  const int t = threadIdx.x;
  long long *row = out + 10 * t;
  row[0] = __shfl_sync(0xffffffffu, t * 10, 3, width);
  row[1] = __shfl_up_sync(0xffffffffu, (long long)t << 40, 2, width);
  row[2] = (long long)__shfl_down_sync(0xffffffffu, t * 0.5f, 3, width);
  row[3] = (long long)__shfl_xor_sync(0xffffffffu, t * 2.0, 5, width);
  row[4] = __ballot_sync(0xffffffffu, t % 3 == 0);
  row[5] = __any_sync(0xffffffffu, t == 9) + 2 * __all_sync(0xffffffffu, t < 1000);
  if (t < 16) {
    row[6] = __shfl_sync(0x0000ffffu, t, t ^ 1);
    row[7] = __ballot_sync(0x0000ffffu, 1);
    __syncwarp(0x0000ffffu);
  } else {
    row[7] = __ballot_sync(0xffff0000u, t & 1);
    row[6] = __shfl_sync(0xffff0000u, t, 16 + (t + 1) % 16);
    __syncwarp(0xffff0000u);
  }
  row[8] = __activemask();
  __syncwarp();
  // Both sides of a branch meet in one operation, from two lines.
  if (t % 2)
    row[9] = __shfl_sync(0xffffffffu, t, 0);
  else
    row[9] = __shfl_sync(0xffffffffu, t, 1);
}

// Which lanes are together: on both sides of a branch, in a loop that lanes leave one after another, behind it.
__global__ void together(unsigned *out) {
  const unsigned t = threadIdx.x;
  if (t >= 40) return;
  unsigned *row = out + 4 * t;
  row[2] = 0;
  if (t % 3 == 0)
    row[0] = __activemask();
  else
    row[0] = __activemask();
  for (unsigned k = 0; k <= t % 2; ++k) row[1 + k] = __activemask();
  const unsigned here = __activemask();
  row[3] = __shfl_sync(here, t, __ffs((int)here) - 1);
}

extern "C" int run_together(unsigned *out) {
  unsigned *device = nullptr;
  cudaMalloc(&device, 160 * sizeof(unsigned));
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(64);
  cudaError_t error = cudaLaunchKernelEx(&config, together, device);
  if (error == cudaSuccess) error = cudaMemcpy(out, device, 160 * sizeof(unsigned), cudaMemcpyDeviceToHost);
  cudaFree(device);
  return error;
}

extern "C" int run_shuffles(long long *out, int width) {
  long long *device = nullptr;
  cudaMalloc(&device, 320 * sizeof(long long));
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(32);
  cudaError_t error = cudaLaunchKernelEx(&config, shuffles, device, width);
  if (error == cudaSuccess) error = cudaMemcpy(out, device, 320 * sizeof(long long), cudaMemcpyDeviceToHost);
  cudaFree(device);
  return error;
}
