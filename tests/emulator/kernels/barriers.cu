#include <cuda_runtime.h>

// One thread leaves before the barriers; the others exchange values through shared memory in every turn.
__global__ void rotate(int *values, int turns) {
  __shared__ int ring[96];
  const int t = threadIdx.x, last = blockDim.x - 1;
  if (t == last) return;
  int value = values[t];
  for (int turn = 0; turn < turns; ++turn) {
    ring[t] = value;
    __syncthreads();
    value = ring[(t + 1) % last];
    __syncthreads();
  }
  values[t] = value;
}

__global__ void votes(int *out) {
  const int t = threadIdx.x;
  out[3 * t] = __syncthreads_count(t % 3 == 0);
  out[3 * t + 1] = __syncthreads_and(t < 1000);
  out[3 * t + 2] = __syncthreads_or(t == 40) + 2 * __syncthreads_or(t == 1000);
}

__device__ void keep(int t, int *out) {
  out[t] = t;
  __syncthreads();
}

__global__ void diverge(int *out) {
  const int t = threadIdx.x;
  if (t < 16)
    __syncthreads();  // barrier of the first half
  else
    __syncthreads();  // barrier of the second half
  keep(t, out);
}

__global__ void starve(int *out) {
  const int t = threadIdx.x;
  int value = t;
  if (t != 5) value = __shfl_xor_sync(0xffffffffu, value, 1);  // the shuffle
  __syncthreads();                                             // the barrier
  out[t] = value;
}

// The other half of the warp has ended, or never was: that is no reason to wait.
__global__ void alone(int *out) {
  const int t = threadIdx.x;
  if (t % 32 >= 16) return;
  out[t] = __shfl_up_sync(0xffffffffu, t, 1);
}

// A thread waits for another one to write.
__global__ void handshake(volatile int *out) {
  const int t = threadIdx.x;
  if (t == 0)
    while (out[1] == 0) __nanosleep(20);
  out[t] = t + 1;
  __threadfence_block();
}

__global__ void forever(volatile int *out) {
  while (out[0] == 0) __nanosleep(20);
}

static cudaError_t on_device(int *values, int count, cudaError_t (*start)(cudaLaunchConfig_t *, int *, int), int threads,
                             int argument) {
  int *device = nullptr;
  cudaMalloc(&device, count * sizeof(int));
  cudaMemcpy(device, values, count * sizeof(int), cudaMemcpyHostToDevice);
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1, 2);
  config.blockDim = dim3(threads);
  cudaError_t error = start(&config, device, argument);
  if (error == cudaSuccess) error = cudaDeviceSynchronize();
  cudaError_t copied = cudaMemcpy(values, device, count * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(device);
  return error != cudaSuccess ? error : copied;
}

#define ENTRY(name)                                                            \
  static cudaError_t start_##name(cudaLaunchConfig_t *config, int *out, int) { \
    return cudaLaunchKernelEx(config, name, out);                              \
  }                                                                            \
  extern "C" int run_##name(int *values, int count, int threads) {             \
    return on_device(values, count, start_##name, threads, 0);                 \
  }

ENTRY(votes)
ENTRY(diverge)
ENTRY(starve)
ENTRY(alone)
ENTRY(handshake)
ENTRY(forever)

static cudaError_t start_rotate(cudaLaunchConfig_t *config, int *out, int turns) {
  config->gridDim = dim3(1);
  return cudaLaunchKernelEx(config, rotate, out, turns);
}
extern "C" int run_rotate(int *values, int count, int turns) {
  return on_device(values, count, start_rotate, count, turns);
}
extern "C" int synchronize() { return cudaDeviceSynchronize(); }
