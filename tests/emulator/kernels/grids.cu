// Cooperative launches, used rightly and wrongly. Each run_NAME returns what the launch returned, or 1000 when the
// result is wrong. Lines that a finding is about end with `// NAME`.
#include "checked.h"

#include <cooperative_groups.h>

template <class... Parameters, class... Arguments>
static int together(dim3 grid, dim3 threads, size_t shared, void (*kernel)(Parameters...), Arguments... arguments) {
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeCooperative;
  attributes[0].val.cooperative = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {1, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared;
  config.attrs = attributes;
  config.numAttrs = 2;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

template <class Expected>
static int compare(int status, const int *values, int count, Expected expected) {
  for (int i = 0; status == 0 && i < count; ++i) {
    int value = 0;
    cudaMemcpy(&value, values + i, sizeof value, cudaMemcpyDeviceToHost);
    if (value != expected(i)) return 1000;
  }
  return status;
}

// Each block adds its elements; the first one adds what the blocks have.
template <bool SYNC>
__device__ __forceinline__ void sum(const int *values, int *sums, int *total) {
  __shared__ int s[64];
  const int t = threadIdx.x, b = blockIdx.x;
  s[t] = values[b * 64 + t];
  for (int half = 32; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) s[t] += s[t + half];
  }
  if (t == 0) sums[b] = s[0];  // unordered_sum
  if (SYNC) cooperative_groups::this_grid().sync();
  if (b == 0 && t == 0)
    for (int i = 0; i < int(gridDim.x); ++i) *total += sums[i];  // unordered_sum
}
__global__ void ordered_sum(const int *values, int *sums, int *total) { sum<true>(values, sums, total); }
__global__ void unordered_sum(const int *values, int *sums, int *total) { sum<false>(values, sums, total); }

static int summed(void (*kernel)(const int *, int *, int *), int blocks) {
  Device<int> values(blocks * 64), sums(blocks), total(1);
  for (int i = 0; i < blocks * 64; ++i) cudaMemcpy(values.data + i, &i, sizeof i, cudaMemcpyHostToDevice);
  const int status = together(blocks, 64, 0, kernel, values.data, sums.data, total.data);
  return compare(status, total.data, 1, [=](int) { return blocks * 64 * (blocks * 64 - 1) / 2; });
}
RUN(ordered_sum) { return summed(ordered_sum, 132); }
RUN(unordered_sum) { return summed(unordered_sum, 5); }

// Steps over all elements, between two arrays; what blocks keep in shared memory, in registers and in split barriers is
// their own; copies may be on their way meanwhile.
__global__ void steps(int *a, int *b, int n) {
  __shared__ int own;
  __shared__ int next[32];
  __shared__ polytile_barrier barrier;
  extern __shared__ int row[];
  const int t = threadIdx.x, block = blockIdx.x + gridDim.x * blockIdx.y, i = block * 32 + t;
  const int size = 32 * gridDim.x * gridDim.y;
  if (t == 0) {
    own = block;
    polytile_barrier_init(&barrier, 32);
  }
  __syncthreads();
  for (int k = 0; k < n; ++k) {
    int *from = k % 2 ? b : a, *to = k % 2 ? a : b;
    polytile_copy_async<4>(&next[t], &from[(i + 1) % size], true);
    polytile_commit_copies();
    row[t] = from[i];
    polytile_arrive(&barrier);
    cooperative_groups::this_grid().sync();
    polytile_await(&barrier, k & 1);
    polytile_wait_copies<0>();
    to[i] = next[t] + (row[31 - t] - row[31 - t]);
    cooperative_groups::this_grid().sync();
  }
  __syncthreads();
  (n % 2 ? b : a)[i] += 10000 * own;
}
RUN(steps) {
  const dim3 grid(3, 4);
  const int size = 32 * 12, n = 7;
  Device<int> a(size), b(size);
  for (int i = 0; i < size; ++i) cudaMemcpy(a.data + i, &i, sizeof i, cudaMemcpyHostToDevice);
  const int status = together(grid, 32, 32 * sizeof(int), steps, a.data, b.data, n);
  return compare(status, b.data, size, [=](int i) { return (i + n) % size + 10000 * (i / 32); });
}

// Without the second barrier a block may write what its neighbour still has to read.
__global__ void half_ordered(int *a, int n) {
  const int i = blockIdx.x * 32 + threadIdx.x, size = 32 * gridDim.x;
  for (int k = 0; k < n; ++k) {
    const int x = a[(i + 32) % size];  // half_ordered
    if (k == 0) cooperative_groups::this_grid().sync();
    a[i] = x;  // half_ordered
  }
}
RUN(half_ordered) { return together(3, 32, 0, half_ordered, Device<int>(96), 2); }

__global__ void leaves(int *a, int block, int thread) {
  const int b = blockIdx.x, t = threadIdx.x;
  if (b == block && (thread < 0 || t == thread)) return;
  cooperative_groups::this_grid().sync();  // leaves
  a[b * 32 + t] = 1;
}
RUN(block_leaves) { return together(3, 32, 0, leaves, Device<int>(96), 1, -1); }
RUN(thread_leaves) { return together(3, 32, 0, leaves, Device<int>(96), 1, 5); }
RUN(not_cooperative) { return launch(3, 32, 0, leaves, Device<int>(96), -1, -1); }
RUN(all_stay) { return together(3, 32, 0, leaves, Device<int>(96), -1, -1); }

__global__ void ranks(int *a, int) {
  const auto grid = cooperative_groups::this_grid();
  cooperative_groups::this_thread_block().sync();
  a[grid.thread_rank()] = int(grid.size()) * grid.is_valid();
}
RUN(ranks) {
  Device<int> a(96);
  int n = 0;
  void *arguments[] = {&a.data, &n};
  const int status = cudaLaunchCooperativeKernel(ranks, dim3(3), dim3(32), arguments);
  return compare(status, a.data, 96, [](int) { return 96; });
}

__global__ void nothing() {}
extern "C" int launch_together(unsigned blocks, unsigned threads, unsigned shared) {
  if (cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10) != cudaSuccess) return -1;
  return together(blocks, threads, shared, nothing);
}
