// Threads that play what a table says: accesses to a few words, split barriers, plain barriers, and meetings of lanes.
#include "checked.h"

constexpr int kWords = 3, kBarriers = 2;

struct Step {
  int what, which;  // which word, barrier, or (of meetings) lanes
};
enum { kNothing, kRead, kWrite, kAtomic, kArrive, kAwaitEven, kAwaitOdd, kMeet, kBarrier };

// steps[thread][step]; arrivals[barrier].
__global__ void play(const Step *steps, const int *arrivals, int count, int shared, int *global_words, int *sinks) {
  __shared__ polytile_barrier barriers[kBarriers];
  __shared__ int shared_words[kWords];
  const int t = threadIdx.x;
  if (t == 0)
    for (int b = 0; b < kBarriers; ++b) polytile_barrier_init(&barriers[b], arrivals[b]);
  __syncthreads();
  int *const words = shared ? shared_words : global_words;
  for (int s = 0; s < count; ++s) {
    const Step step = steps[t * count + s];
    if (step.what == kRead) sinks[t] += words[step.which];
    if (step.what == kWrite) words[step.which] = 1;
    if (step.what == kAtomic) atomicAdd(&words[step.which], 1);
    if (step.what == kArrive) polytile_arrive(&barriers[step.which]);
    if (step.what == kAwaitEven) polytile_await(&barriers[step.which], 0);
    if (step.what == kAwaitOdd) polytile_await(&barriers[step.which], 1);
    if (step.what == kMeet) __syncwarp(unsigned(step.which));
    if (step.what == kBarrier) __syncthreads();
  }
}

extern "C" int run(const Step *steps, const int *arrivals, int threads, int count, int shared) {
  Device<Step> on_device_steps(size_t(threads) * count);
  Device<int> on_device_arrivals(kBarriers), words(kWords), sinks(threads);
  (void)cudaMemcpy(on_device_steps.data, steps, size_t(threads) * count * sizeof(Step), cudaMemcpyHostToDevice);
  (void)cudaMemcpy(on_device_arrivals.data, arrivals, kBarriers * sizeof(int), cudaMemcpyHostToDevice);
  return launch(1, threads, 0, play, on_device_steps.data, on_device_arrivals.data, count, shared, words.data,
                sinks.data);
}
