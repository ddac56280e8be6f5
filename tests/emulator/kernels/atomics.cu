#include <cuda_runtime.h>

__global__ void histogram(const int *x, unsigned *bins, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[x[i]], 1u);
}

extern "C" int count_values(const int *x, unsigned *bins, int n, int kinds) {
  int *device_x = nullptr;
  unsigned *device_bins = nullptr;
  cudaMalloc(&device_x, n * sizeof(int));
  cudaMalloc(&device_bins, kinds * sizeof(unsigned));
  cudaMemcpy(device_x, x, n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(device_bins, 0, kinds * sizeof(unsigned));
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((n + 255) / 256);
  config.blockDim = dim3(256);
  cudaError_t error = cudaLaunchKernelEx(&config, histogram, device_x, device_bins, n);
  if (error == cudaSuccess) error = cudaMemcpy(bins, device_bins, kinds * sizeof(unsigned), cudaMemcpyDeviceToHost);
  cudaFree(device_x);
  cudaFree(device_bins);
  return error;
}

struct Results {
  double sum_double;
  long long smallest, largest, bits;
  unsigned long long sum, swapped, most;
  float sum_float;
  int sum_int, least_int, sub;
  unsigned wrapped, any, flipped, last;
};

__global__ void all_kinds(Results *r) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&r->sum_double, 0.5 * t);
  atomicAdd(&r->sum_float, 1);
  atomicAdd(&r->sum_int, -t);
  atomicAdd(&r->sum, 1ull << 33);
  atomicSub(&r->sub, 2);
  atomicMin(&r->smallest, -(1ll << 40) - t);
  atomicMax(&r->largest, (1ll << 40) + t);
  atomicMax(&r->most, (unsigned long long)__double_as_longlong(1.0 + t));
  atomicMin(&r->least_int, -t);
  atomicAnd(&r->bits, ~(1ll << (t % 48)));
  atomicOr(&r->any, 1u << (t % 32));
  atomicXor(&r->flipped, 1u << (t % 32));
  atomicInc(&r->wrapped, 6);
  atomicExch(&r->last, 7u);
  unsigned long long old = r->swapped, assumed;
  do {
    assumed = old;
    old = atomicCAS(&r->swapped, assumed, assumed + 3);
  } while (old != assumed);
}

extern "C" int run_all_kinds(Results *results) {
  Results *device = nullptr;
  cudaMalloc(&device, sizeof(Results));
  cudaMemcpy(device, results, sizeof(Results), cudaMemcpyHostToDevice);
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(3);
  config.blockDim = dim3(33);
  cudaError_t error = cudaLaunchKernelEx(&config, all_kinds, device);
  if (error == cudaSuccess) error = cudaMemcpy(results, device, sizeof(Results), cudaMemcpyDeviceToHost);
  cudaFree(device);
  return error;
}
