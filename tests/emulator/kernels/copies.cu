// Asynchronous copies, used rightly and wrongly. Each run_NAME returns what the launch returned, or 1000 when the
// result is wrong. Lines that a finding is about end with `// NAME`.
#include "checked.h"

constexpr int kThreads = 64;

// Launches one block on `count` doubles (0, 1, 2, ...), and compares what it leaves with what `expected(i)` says.
template <class Expected>
static int run(void (*kernel)(const double *, double *, int), int count, int n, Expected expected) {
  Device<double> from(count), to(count);
  double values[kThreads * 16];
  for (int i = 0; i < count; ++i) values[i] = i;
  cudaMemcpy(from.data, values, count * sizeof(double), cudaMemcpyHostToDevice);
  const int status = launch(1, kThreads, 0, kernel, from.data, to.data, n);
  if (status != 0 || cudaMemcpy(values, to.data, count * sizeof(double), cudaMemcpyDeviceToHost) != cudaSuccess)
    return status;
  for (int i = 0; i < count; ++i)
    if (!(values[i] == expected(i))) return 1000;
  return 0;
}

static int reversed(int i) { return i / kThreads * kThreads + kThreads - 1 - i % kThreads; }

// Tiles of `n` rows through three slots: two are on their way while one is used.
__global__ void __launch_bounds__(kThreads, 2) pipeline(const double *from, double *to, int n) {
  __shared__ double slots[3][kThreads];
  const int t = threadIdx.x;
  for (int k = 0; k < 2; ++k) {
    polytile_copy_async<8>(&slots[k][t], &from[k * kThreads + t], k < n);
    polytile_commit_copies();
  }
  for (int k = 0; k < n; ++k) {
    polytile_wait_copies<1>();
    __syncthreads();
    to[k * kThreads + t] = slots[k % 3][kThreads - 1 - t];
    polytile_copy_async<8>(&slots[(k + 2) % 3][t], &from[(k + 2) * kThreads + t], k + 2 < n);
    polytile_commit_copies();
  }
  polytile_wait_copies<0>();
}
RUN(pipeline) { return run(pipeline, kThreads * 9, 9, reversed); }

// With two slots the copy of the next row may arrive where others still read.
__global__ void too_few_slots(const double *from, double *to, int n) {
  __shared__ double slots[2][kThreads];
  const int t = threadIdx.x;
  polytile_copy_async<8>(&slots[0][t], &from[t], true);
  polytile_commit_copies();
  for (int k = 0; k < n; ++k) {
    polytile_copy_async<8>(&slots[(k + 1) % 2][t], &from[(k + 1) * kThreads + t], k + 1 < n);  // too_few_slots
    polytile_commit_copies();
    polytile_wait_copies<1>();
    __syncthreads();
    to[k * kThreads + t] = slots[k % 2][kThreads - 1 - t];  // too_few_slots
  }
  polytile_wait_copies<0>();
}
RUN(too_few_slots) { return run(too_few_slots, kThreads * 9, 9, reversed); }

// All widths, zeros where nothing is read, one's own copies without a barrier.
__global__ void widths(const double *from, double *to, int n) {
  __shared__ double2 wide[kThreads / 2];
  __shared__ float narrow[2 * kThreads];
  const int t = threadIdx.x;
  const float *halves = (const float *)from;
  polytile_copy_async<4>(&narrow[t], &halves[t], true);
  polytile_copy_async<4>(&narrow[kThreads + t], &halves[1 << 20], false);
  if (t < kThreads / 2) polytile_copy_async<16>(&wide[t], &from[2 * t], t < n);
  polytile_commit_copies();
  polytile_wait_copies<0>();
  const bool same = narrow[t] == halves[t] && narrow[kThreads + t] == 0;
  if (t < kThreads / 2) {
    to[2 * t] = wide[t].x + same;
    to[2 * t + 1] = wide[t].y + same;
  }
}
RUN(widths) {
  return run(widths, kThreads, 20, [](int i) { return (i < 40 ? i : 0) + 1; });
}

// Groups arrive in order: behind the wait for all but two, the first two of four are there.
__global__ void groups(const double *from, double *to, int) {
  __shared__ double s[4][kThreads];
  const int t = threadIdx.x;
  for (int k = 0; k < 4; ++k) {
    polytile_copy_async<8>(&s[k][t], &from[k * kThreads + t], true);
    polytile_commit_copies();
  }
  polytile_wait_copies<2>();
  for (int k = 0; k < 2; ++k) to[k * kThreads + t] = s[k][t];
  polytile_wait_copies<0>();
  for (int k = 2; k < 4; ++k) to[k * kThreads + t] = s[k][t];
}
RUN(groups) { return run(groups, kThreads * 4, 0, [](int i) { return i; }); }

__global__ void no_wait(const double *from, double *to, int) {
  __shared__ double s[kThreads];
  const int t = threadIdx.x;
  polytile_copy_async<8>(&s[t], &from[t], true);  // no_wait
  polytile_commit_copies();
  to[t] = s[t];  // no_wait
  polytile_wait_copies<0>();
}
RUN(no_wait) { return run(no_wait, kThreads, 0, [](int i) { return i; }); }

__global__ void wait_for_too_few(const double *from, double *to, int) {
  __shared__ double s[2][kThreads];
  const int t = threadIdx.x;
  for (int k = 0; k < 2; ++k) {
    polytile_copy_async<8>(&s[k][t], &from[k * kThreads + t], true);  // wait_for_too_few
    polytile_commit_copies();
  }
  polytile_wait_copies<1>();
  for (int k = 0; k < 2; ++k) to[k * kThreads + t] = s[k][t];  // wait_for_too_few
  polytile_wait_copies<0>();
}
RUN(wait_for_too_few) { return run(wait_for_too_few, 2 * kThreads, 0, [](int i) { return i; }); }

// No group was closed, so that the wait waits for nothing.
__global__ void no_commit(const double *from, double *to, int) {
  __shared__ double s[kThreads];
  const int t = threadIdx.x;
  polytile_copy_async<8>(&s[t], &from[t], true);  // no_commit
  polytile_wait_copies<0>();
  to[t] = s[t];  // no_commit
  polytile_commit_copies();
  polytile_wait_copies<0>();
}
RUN(no_commit) { return run(no_commit, kThreads, 0, [](int i) { return i; }); }

__global__ void no_barrier(const double *from, double *to, int) {
  __shared__ double s[kThreads];
  const int t = threadIdx.x;
  polytile_copy_async<8>(&s[t], &from[t], true);  // no_barrier
  polytile_commit_copies();
  polytile_wait_copies<0>();
  to[t] = s[kThreads - 1 - t];  // no_barrier
}
RUN(no_barrier) { return run(no_barrier, kThreads, 0, reversed); }

// The barrier comes before the wait: others may not be there yet.
__global__ void barrier_before_wait(const double *from, double *to, int) {
  __shared__ double s[kThreads];
  const int t = threadIdx.x;
  polytile_copy_async<8>(&s[t], &from[t], true);  // barrier_before_wait
  polytile_commit_copies();
  __syncthreads();
  polytile_wait_copies<0>();
  to[t] = s[kThreads - 1 - t];  // barrier_before_wait
}
RUN(barrier_before_wait) { return run(barrier_before_wait, kThreads, 0, reversed); }

__global__ void target_written(const double *from, double *to, int) {
  __shared__ double s[kThreads];
  const int t = threadIdx.x;
  polytile_copy_async<8>(&s[t], &from[t], true);  // target_written
  polytile_commit_copies();
  s[t] = 0;  // target_written
  polytile_wait_copies<0>();
  to[t] = s[t];
}
RUN(target_written) { return run(target_written, kThreads, 0, [](int i) { return i; }); }

__global__ void source_written(const double *from, double *to, int) {
  __shared__ double s[kThreads];
  const int t = threadIdx.x;
  to[t] = from[t];
  polytile_copy_async<8>(&s[t], &to[t], true);  // source_written
  polytile_commit_copies();
  to[t] = 0;  // source_written
  polytile_wait_copies<0>();
  to[t] = s[t];
}
RUN(source_written) { return run(source_written, kThreads, 0, [](int) { return 0; }); }

__global__ void never_waited(const double *from, double *to, int) {
  __shared__ double s[kThreads];
  const int t = threadIdx.x;
  polytile_copy_async<8>(&s[t], &from[t], true);  // never_waited
  polytile_commit_copies();
  to[t] = from[t];
}
RUN(never_waited) { return run(never_waited, kThreads, 0, [](int i) { return i; }); }

__global__ void misaligned(const double *from, double *to, int n) {
  __shared__ double s[kThreads];
  const int t = threadIdx.x;
  if (t < 2) polytile_copy_async<16>(&s[4 * t], &from[4 * t + n], true);  // misaligned
  polytile_commit_copies();
  polytile_wait_copies<0>();
  to[t] = 0;
}
RUN(misaligned) { return run(misaligned, kThreads, 1, [](int) { return 0; }); }
RUN(aligned) { return run(misaligned, kThreads, 2, [](int) { return 0; }); }

__global__ void beyond(const double *from, double *to, int n) {
  __shared__ double s[kThreads];
  const int t = threadIdx.x;
  polytile_copy_async<8>(&s[t], &from[t + n], true);  // beyond
  polytile_commit_copies();
  polytile_wait_copies<0>();
  to[t] = s[t] - n;
}

__global__ void unwritten(const double *from, double *to, int n) {
  __shared__ double s[kThreads];
  const int t = threadIdx.x;
  polytile_copy_async<8>(&s[t], t < n ? &from[t] : &to[t], true);  // unwritten
  polytile_commit_copies();
  polytile_wait_copies<0>();
  if (t < n) to[t] = s[t];
}
RUN(unwritten) {
  Device<double> from(kThreads), to(kThreads, false);
  return launch(1, kThreads, 0, unwritten, from.data, to.data, kThreads - 1);
}
RUN(written) { return run(unwritten, kThreads, kThreads, [](int i) { return i; }); }
RUN(beyond) {
  Device<double> from(kThreads), to(kThreads);
  return launch(1, kThreads, 0, beyond, from.data, to.data, 1);
}
