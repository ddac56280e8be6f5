#include <cuda_runtime.h>

__global__ void nothing() {}

__global__ void dynamic(int *out) {
  extern __shared__ int bytes[];
  bytes[threadIdx.x] = threadIdx.x;
  if (out) out[threadIdx.x] = bytes[threadIdx.x];
}

extern "C" int launch(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(gx, gy, gz);
  config.blockDim = dim3(bx, by, bz);
  cudaError_t error = cudaLaunchKernelEx(&config, nothing);
  cudaError_t last = cudaGetLastError();
  return error == last && cudaGetLastError() == cudaSuccess ? error : -1;
}

extern "C" int launch_shared(int opt_in, size_t bytes) {
  if (opt_in >= 0) {
    cudaError_t error = cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, opt_in);
    if (error != cudaSuccess) return cudaGetLastError(), 1000 + error;
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(32);
  config.dynamicSmemBytes = bytes;
  cudaError_t error = cudaLaunchKernelEx(&config, dynamic, nullptr);
  cudaGetLastError();
  return error;
}

extern "C" int pointer_type(int which) {
  static int variable = 0;
  char *device = nullptr;
  cudaMalloc(&device, 100);
  const void *pointers[] = {device, device + 99, device + 256, &variable, nullptr};
  cudaPointerAttributes attributes = {};
  cudaError_t error = cudaPointerGetAttributes(&attributes, pointers[which]);
  cudaFree(device);
  return error == cudaSuccess ? attributes.type : -error;
}

extern "C" int allocate(size_t bytes) {
  char *device = nullptr;
  cudaError_t error = cudaMalloc(&device, bytes);
  cudaGetLastError();
  cudaFree(device);
  return error;
}

// Copies that CUDA refuses: past the end, and from memory that is no device memory.
extern "C" int copy(int which) {
  char *device = nullptr;
  static char host[200];
  cudaMalloc(&device, 100);
  cudaError_t error = cudaSuccess;
  if (which == 0) error = cudaMemcpy(device, host, 100, cudaMemcpyHostToDevice);
  if (which == 1) error = cudaMemcpy(device + 1, host, 100000000, cudaMemcpyHostToDevice);
  if (which == 2) error = cudaMemcpy(host, host + 100, 100, cudaMemcpyDeviceToHost);
  if (which == 3) error = cudaMemcpy2D(device, 10, host, 20, 10, 10, cudaMemcpyHostToDevice);
  if (which == 4) error = cudaMemcpy2D(device, 10, host, 20, 12, 5, cudaMemcpyHostToDevice);
  if (which == 5) error = cudaMemcpy(device, host, 100, (cudaMemcpyKind)17);
  if (which == 6) error = cudaMemset(host, 0, 100);
  if (which == 7) error = cudaFree(host);
  cudaGetLastError();
  cudaFree(device);
  return error;
}

extern "C" const char *error_name(int error) { return cudaGetErrorName((cudaError_t)error); }
extern "C" const char *error_text(int error) { return cudaGetErrorString((cudaError_t)error); }

extern "C" int attribute(int which) {
  int value = -1;
  return cudaDeviceGetAttribute(&value, (cudaDeviceAttr)which, 0) == cudaSuccess ? value : -1;
}
