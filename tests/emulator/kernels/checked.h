// What the kernels with planted errors share: launching one of them, and device memory of a given number of bytes.
#pragma once

#include <cuda_runtime.h>

template <class... Parameters, class... Arguments>
static int launch(dim3 grid, dim3 threads, size_t shared, void (*kernel)(Parameters...), Arguments... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

// Device memory, all of it written unless `fill` is false.
template <class T>
struct Device {
  explicit Device(size_t count, bool fill = true) {
    if (cudaMalloc(&data, count * sizeof(T)) == cudaSuccess && fill) (void)cudaMemset(data, 0, count * sizeof(T));
  }
  ~Device() { (void)cudaFree(data); }
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;
  operator T *() const { return data; }

  T *data = nullptr;
};

__device__ __forceinline__ int before(int a) { return a - 1; }

// The host function `run_NAME`, which returns what the launch returned.
#define RUN(name) extern "C" int run_##name()
