// Threads that play what a table says: accesses to one word, or to bytes of it, barriers, and meetings of lanes.
#include <cuda_runtime.h>

constexpr int kRead = 1, kWrite = 2, kAtomic = 3;

__device__ void act(int action, int *word, int *sink) {
  const int kind = action % 4, target = action / 4;
  char *byte = reinterpret_cast<char *>(word) + target - 1;
  if (target == 0) {
    if (kind == kRead) *sink += *word;
    if (kind == kWrite) *word = 1;
    if (kind == kAtomic) atomicAdd(word, 1);
  } else {
    if (kind == kRead) *sink += *byte;
    if (kind == kWrite) *byte = 1;
  }
}

// actions[block][thread][step]; meetings[block][warp][step]: lanes that meet; barriers[step].
__global__ void play(const int *actions, const unsigned *meetings, const int *barriers, int steps, int shared,
                     int *global_word, int *sinks) {
  __shared__ int shared_word;
  const int t = threadIdx.x, warps = (blockDim.x + 31) / 32;
  int *const sink = sinks + blockIdx.x * blockDim.x + t;
  int *const word = shared ? &shared_word : global_word;
  for (int s = 0; s < steps; ++s) {
    const unsigned lanes = meetings[(blockIdx.x * warps + t / 32) * steps + s];
    if (barriers[s])
      __syncthreads();
    else if (lanes >> t % 32 & 1)
      __syncwarp(lanes);
    else
      act(actions[(blockIdx.x * blockDim.x + t) * steps + s], word, sink);
  }
}

template <class T>
static T *on_device(const T *data, size_t count) {
  T *copy = nullptr;
  (void)cudaMalloc(&copy, count * sizeof(T));
  (void)cudaMemcpy(copy, data, count * sizeof(T), cudaMemcpyHostToDevice);
  return copy;
}

extern "C" int run(const int *actions, const unsigned *meetings, const int *barriers, int blocks, int threads, int steps,
                   int shared) {
  const size_t all = size_t(blocks) * threads;
  int *const on_device_actions = on_device(actions, all * steps);
  unsigned *const on_device_meetings = on_device(meetings, size_t(blocks) * ((threads + 31) / 32) * steps);
  int *const on_device_barriers = on_device(barriers, steps);
  int *word = nullptr, *sinks = nullptr;
  (void)cudaMalloc(&word, sizeof *word);
  (void)cudaMalloc(&sinks, all * sizeof *sinks);
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks;
  config.blockDim = threads;
  const int status = cudaLaunchKernelEx(&config, play, on_device_actions, on_device_meetings, on_device_barriers, steps,
                                        shared, word, sinks);
  (void)cudaFree(on_device_actions);
  (void)cudaFree(on_device_meetings);
  (void)cudaFree(on_device_barriers);
  (void)cudaFree(word);
  (void)cudaFree(sinks);
  return status;
}
