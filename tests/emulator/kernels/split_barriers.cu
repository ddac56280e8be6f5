// Split barriers, used rightly and wrongly. Each run_NAME returns what the launch returned, or 1000 when the result is
// wrong. Lines that a finding is about end with `// NAME`.
#include "checked.h"

constexpr int kThreads = 96, kWarps = kThreads / 32;

// Launches a kernel on `blocks` blocks, and compares what each of its threads leaves.
template <class Expected>
static int run(void (*kernel)(int *, int), int n, Expected expected, int blocks = 1, int threads = kThreads) {
  Device<int> out(blocks * threads);
  const int status = launch(blocks, threads, 0, kernel, out.data, n);
  if (status != 0) return status;
  int values[4 * kThreads];
  (void)cudaMemcpy(values, out.data, blocks * threads * sizeof(int), cudaMemcpyDeviceToHost);
  for (int i = 0; i < blocks * threads; ++i)
    if (values[i] != expected(i)) return 1000;
  return 0;
}

static int rotated(int i, int by) { return (i % kThreads + by) % kThreads; }

// Values go from thread to thread, through two rows in turn, with one phase a round; work lies between the two halves.
__global__ void rounds(int *out, int n) {
  __shared__ polytile_barrier b;
  __shared__ int rows[2][kThreads];
  const int t = threadIdx.x;
  if (t == 0) polytile_barrier_init(&b, kThreads);
  __syncthreads();
  int x = t, work = 0;
  for (int k = 0; k < n; ++k) {
    rows[k % 2][t] = x;
    polytile_arrive(&b);
    work += x;
    polytile_await(&b, k & 1);
    x = rows[k % 2][(t + 1) % kThreads];
  }
  out[blockIdx.x * kThreads + t] = x + (work < 0);
}
RUN(rounds) {
  return run(rounds, 7, [](int i) { return rotated(i, 7); }, 3);
}

// One lane arrives for its warp.
__global__ void elected(int *out, int n) {
  __shared__ polytile_barrier b;
  __shared__ int rows[2][kThreads];
  const int t = threadIdx.x;
  if (t == 40) polytile_barrier_init(&b, kWarps);
  __syncthreads();
  int x = t;
  for (int k = 0; k < n; ++k) {
    rows[k % 2][t] = x;
    __syncwarp();
    if (t % 32 == 0) polytile_arrive(&b);
    polytile_await(&b, k & 1);
    x = rows[k % 2][(t + 1) % kThreads];
  }
  out[t] = x;
}
RUN(elected) {
  return run(elected, 6, [](int i) { return rotated(i, 6); });
}

// The other lanes' writes are not the arriving lane's.
__global__ void elected_too_early(int *out, int n) {
  __shared__ polytile_barrier b;
  __shared__ int row[kThreads];
  const int t = threadIdx.x;
  if (t == 0) polytile_barrier_init(&b, kWarps);
  __syncthreads();
  row[t] = t;  // elected_too_early
  if (t % 32 == 0) polytile_arrive(&b);
  polytile_await(&b, 0);
  out[t] = row[(t + n) % kThreads];  // elected_too_early
}
RUN(elected_too_early) {
  return run(elected_too_early, 1, [](int i) { return rotated(i, 1); });
}

// Warp 0 fills two slots in turn, the others empty them: one barrier for each slot and direction.
template <bool WAIT_FOR_EMPTY, bool WAIT_FOR_FULL>
__device__ __forceinline__ void hand_over(polytile_barrier *full, polytile_barrier *empty, int (*slots)[32], int *out,
                                          int n) {
  const int t = threadIdx.x, lane = t % 32;
  if (t < 2) {
    polytile_barrier_init(&full[t], 32);
    polytile_barrier_init(&empty[t], kThreads - 32);
  }
  __syncthreads();
  int sum = 0;
  for (int k = 0; k < n; ++k) {
    const int slot = k % 2, round = k / 2;
    if (t < 32) {
      if (WAIT_FOR_EMPTY && round > 0) polytile_await(&empty[slot], (round - 1) & 1);
      slots[slot][lane] = lane + k;  // unfilled
      polytile_arrive(&full[slot]);  // overwritten
    } else {
      if (WAIT_FOR_FULL) polytile_await(&full[slot], round & 1);
      sum += slots[slot][31 - lane];  // unfilled
      polytile_arrive(&empty[slot]);
    }
  }
  out[t] = sum;
}
__global__ void ring(int *out, int n) {
  __shared__ polytile_barrier full[2], empty[2];
  __shared__ int slots[2][32];
  hand_over<true, true>(full, empty, slots, out, n);
}
RUN(ring) {
  return run(ring, 9, [](int i) { return i < 32 ? 0 : 9 * (31 - i % 32) + 36; });
}

// A producer that does not wait arrives in later phases, too.
__global__ void overwritten(int *out, int n) {
  __shared__ polytile_barrier full[2], empty[2];
  __shared__ int slots[2][32];
  hand_over<false, true>(full, empty, slots, out, n);
}
RUN(overwritten) {
  return run(overwritten, 9, [](int i) { return i < 32 ? 0 : 9 * (31 - i % 32) + 36; });
}
__global__ void unfilled(int *out, int n) {
  __shared__ polytile_barrier full[2], empty[2];
  __shared__ int slots[2][32];
  hand_over<true, false>(full, empty, slots, out, n);
}
RUN(unfilled) {
  return run(unfilled, 2, [](int i) { return i < 32 ? 0 : 2 * (31 - i % 32) + 1; });
}

// Plain barriers and split ones, and a barrier that starts again.
__global__ void mixed(int *out, int n) {
  __shared__ polytile_barrier b;
  __shared__ int row[kThreads];
  const int t = threadIdx.x;
  int x = t;
  for (int k = 0; k < n; ++k) {
    if (t == k) polytile_barrier_init(&b, kThreads);
    __syncthreads();
    row[t] = x;
    polytile_arrive(&b);
    polytile_await(&b, 0);
    x = row[(t + 1) % kThreads];
    __syncthreads();
  }
  out[t] = x;
}
RUN(mixed) {
  return run(mixed, 3, [](int i) { return rotated(i, 3); });
}

// What one thread of a warp starts, the others see after __syncwarp.
__global__ void within_a_warp(int *out, int n) {
  __shared__ polytile_barrier b;
  __shared__ int row[32];
  const int t = threadIdx.x;
  if (t == 0) polytile_barrier_init(&b, 32);
  __syncwarp();
  row[t] = t;
  polytile_arrive(&b);
  polytile_await(&b, 0);
  out[t] = row[(t + n) % 32];
}
RUN(within_a_warp) {
  return run(within_a_warp, 5, [](int i) { return (i + 5) % 32; }, 1, 32);
}

// Asynchronous copies that another warp uses.
__global__ void copied(int *out, int n) {
  __shared__ polytile_barrier b;
  __shared__ int row[kThreads];
  const int t = threadIdx.x;
  if (t == 0) polytile_barrier_init(&b, kThreads);
  __syncthreads();
  polytile_copy_async<4>(&row[t], &out[t], true);
  polytile_commit_copies();
  polytile_wait_copies<0>();
  polytile_arrive(&b);
  polytile_await(&b, 0);
  out[t] = row[(t + n) % kThreads] + t;
}
RUN(copied) {
  return run(copied, 50, [](int i) { return i; });
}

__global__ void copied_too_late(int *out, int n) {
  __shared__ polytile_barrier b;
  __shared__ int row[kThreads];
  const int t = threadIdx.x;
  if (t == 0) polytile_barrier_init(&b, kThreads);
  __syncthreads();
  polytile_copy_async<4>(&row[t], &out[t], true);  // copied_too_late
  polytile_commit_copies();
  polytile_arrive(&b);
  polytile_wait_copies<0>();
  polytile_await(&b, 0);
  const int x = row[(t + n) % kThreads];  // copied_too_late
  out[t] = x + t;
}
RUN(copied_too_late) {
  return run(copied_too_late, 50, [](int i) { return i; });
}

__global__ void no_await(int *out, int n) {
  __shared__ polytile_barrier b;
  __shared__ int row[kThreads];
  const int t = threadIdx.x;
  if (t == 0) polytile_barrier_init(&b, kThreads);
  __syncthreads();
  row[t] = t;  // no_await
  polytile_arrive(&b);
  out[t] = row[(t + n) % kThreads];  // no_await
}
RUN(no_await) {
  return run(no_await, 1, [](int i) { return rotated(i, 1); });
}

__global__ void no_arrival(int *out, int n) {
  __shared__ polytile_barrier b;
  const int t = threadIdx.x;
  if (t == 0) polytile_barrier_init(&b, kThreads);
  __syncthreads();
  if (t != n) polytile_arrive(&b);
  polytile_await(&b, 0);  // no_arrival
  out[t] = 0;
}
RUN(no_arrival) {
  return run(no_arrival, 5, [](int) { return 0; });
}

// The parity of the phase after the next.
__global__ void wrong_parity(int *out, int n) {
  __shared__ polytile_barrier b;
  const int t = threadIdx.x;
  if (t == 0) polytile_barrier_init(&b, kThreads);
  __syncthreads();
  polytile_arrive(&b);
  polytile_await(&b, n);  // wrong_parity
  out[t] = 0;
}
RUN(wrong_parity) {
  return run(wrong_parity, 1, [](int) { return 0; });
}

__global__ void same_parity(int *out, int n) {
  __shared__ polytile_barrier b;
  const int t = threadIdx.x;
  if (t == 0) polytile_barrier_init(&b, kThreads);
  __syncthreads();
  for (int k = 0; k < n; ++k) {
    if (k == 0 || t > 0) polytile_arrive(&b);
    polytile_await(&b, 0);  // same_parity
  }
  out[t] = 0;
}
RUN(same_parity) {
  return run(same_parity, 2, [](int) { return 0; });
}

__global__ void parity_of_two(int *out, int n) {
  __shared__ polytile_barrier b;
  const int t = threadIdx.x;
  if (t == 0) polytile_barrier_init(&b, kThreads);
  __syncthreads();
  polytile_arrive(&b);
  polytile_await(&b, n);  // parity_of_two
  out[t] = 0;
}
RUN(parity_of_two) {
  return run(parity_of_two, 2, [](int) { return 0; });
}

__global__ void arrives_twice(int *out, int n) {
  __shared__ polytile_barrier b;
  const int t = threadIdx.x;
  if (t == 0) polytile_barrier_init(&b, kThreads);
  __syncthreads();
  for (int k = 0; k < 1 + (t == n); ++k) polytile_arrive(&b);  // arrives_twice
  out[t] = 0;
}
RUN(arrives_twice) {
  return run(arrives_twice, 5, [](int) { return 0; });
}

// Two warps' worth of arrivals are waited for, and three come.
__global__ void too_many_arrivals(int *out, int n) {
  __shared__ polytile_barrier b;
  const int t = threadIdx.x;
  if (t == 0) polytile_barrier_init(&b, n);
  __syncthreads();
  polytile_arrive(&b);  // too_many_arrivals
  out[t] = 0;
}
RUN(too_many_arrivals) {
  return run(too_many_arrivals, 64, [](int) { return 0; });
}

// Thread 33 has waited for thread 0's second arrival, which tells nothing of the others' first.
__global__ void unordered_arrival(int *out, int n) {
  __shared__ polytile_barrier b, other;
  const int t = threadIdx.x;
  if (t == 0) {
    polytile_barrier_init(&b, 2);
    polytile_barrier_init(&other, 1);
  }
  __syncthreads();
  if (t == 0 || t == 1) polytile_arrive(&b);
  if (t == 2) polytile_arrive(&other);
  if (t == 33) {
    polytile_await(&other, 0);
    polytile_arrive(&b);  // unordered_arrival
  }
  out[t] = n - n;
}
RUN(unordered_arrival) {
  return run(unordered_arrival, 0, [](int) { return 0; });
}

// The second block finds what the first one left.
__global__ void not_started(int *out, int n) {
  __shared__ polytile_barrier b;
  const int t = threadIdx.x;
  if (t == 0 && int(blockIdx.x) == n) polytile_barrier_init(&b, kThreads);
  __syncthreads();
  polytile_arrive(&b);  // not_started
  out[blockIdx.x * kThreads + t] = 0;
}
RUN(not_started) {
  return run(not_started, 0, [](int) { return 0; }, 2);
}

__global__ void start_unseen(int *out, int n) {
  __shared__ polytile_barrier b;
  const int t = threadIdx.x;
  if (t == n) polytile_barrier_init(&b, kThreads);
  polytile_arrive(&b);  // start_unseen
  out[t] = 0;
}
RUN(start_unseen) {
  return run(start_unseen, 0, [](int) { return 0; });
}

// A barrier in the memory of other data, which a thread has used without an order.
__global__ void in_used_memory(int *out, int n) {
  __shared__ __align__(8) int row[kThreads];
  const int t = threadIdx.x;
  row[t] = t;  // in_used_memory
  if (t == n) polytile_barrier_init((polytile_barrier *)row, kThreads);  // in_used_memory
  __syncthreads();
  out[t] = 0;
}
RUN(in_used_memory) {
  return run(in_used_memory, 50, [](int) { return 0; });
}

// Threads of three warps read, and one writes behind two of them; behind all three if thread 64 arrives, not its
// neighbour.
__global__ void third_reader(int *out, int n) {
  __shared__ polytile_barrier b, c;
  __shared__ int s;
  const int t = threadIdx.x;
  if (t == 0) {
    s = 0;
    polytile_barrier_init(&b, 1);
    polytile_barrier_init(&c, 1);
  }
  __syncthreads();
  if (t % 32 == 0) out[t] = s;  // third_reader
  if (t == 32) polytile_await(&c, 0);
  if (t == 32) polytile_arrive(&b);
  if (t == n) polytile_arrive(&c);
  if (t == 0) polytile_await(&b, 0);
  if (t == 0) s = 1;  // third_reader
}
RUN(third_reader) {
  return run(third_reader, 65, [](int) { return 0; });
}
RUN(all_readers) {
  return run(third_reader, 64, [](int) { return 0; });
}
