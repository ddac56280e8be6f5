#include <cuda_runtime.h>

static __global__ void add(const double *__restrict__ a, const double *__restrict__ b, double *__restrict__ c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

extern "C" int vector_add(const double *a, const double *b, double *c, int n) {
  double *da = nullptr, *db = nullptr, *dc = nullptr;
  const size_t bytes = n * sizeof(double);
  cudaError_t error = cudaMalloc(&da, bytes);
  if (error == cudaSuccess) error = cudaMalloc(&db, bytes);
  if (error == cudaSuccess) error = cudaMalloc(&dc, bytes);
  if (error == cudaSuccess) error = cudaMemcpy(da, a, bytes, cudaMemcpyHostToDevice);
  if (error == cudaSuccess) error = cudaMemcpy(db, b, bytes, cudaMemcpyHostToDevice);
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((n + 127) / 128);
  config.blockDim = dim3(128);
  if (error == cudaSuccess) error = cudaLaunchKernelEx(&config, add, da, db, dc, n);
  if (error == cudaSuccess) error = cudaDeviceSynchronize();
  if (error == cudaSuccess) error = cudaMemcpy(c, dc, bytes, cudaMemcpyDeviceToHost);
  cudaFree(da);
  cudaFree(db);
  cudaFree(dc);
  return error;
}
