// Kernels with races, and kernels that come close. Lines that take part in a race end with `// race NAME`.
#include "checked.h"

constexpr unsigned kAll = 0xffffffffu;

__global__ void no_barrier(int *out) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  s[t] = t;              // race no_barrier
  out[t] = s[63 - t];    // race no_barrier
}
RUN(no_barrier) { return launch(1, 64, 0, no_barrier, Device<int>(64)); }

__global__ void barrier(int *out) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  s[t] = t;
  __syncthreads();
  out[64 * blockIdx.x + t] = s[63 - t];
  __syncthreads();
  s[63 - t] = 0;
}
RUN(barrier) { return launch(3, 64, 0, barrier, Device<int>(3 * 64)); }

__global__ void second_barrier_missing(int *out) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  for (int k = 0; k < 2; ++k) {
    s[t] = t + k;        // race second_barrier_missing
    __syncthreads();
    out[t] = s[63 - t];  // race second_barrier_missing
  }
}
RUN(second_barrier_missing) { return launch(1, 64, 0, second_barrier_missing, Device<int>(64)); }

__global__ void voting_barrier(int *out) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  s[t] = t;
  out[t] = __syncthreads_or(t == 5) + s[63 - t];
}
RUN(voting_barrier) { return launch(1, 64, 0, voting_barrier, Device<int>(64)); }

__global__ void early_exit(int *out) {
  __shared__ int s[96];
  const int t = threadIdx.x;
  s[t] = t;
  if (t >= 48) return;
  __syncthreads();
  out[t] = s[95 - t];
}
RUN(early_exit) { return launch(1, 96, 0, early_exit, Device<int>(96)); }

__global__ void no_syncwarp(int *out) {
  __shared__ int s[32];
  const int t = threadIdx.x;
  s[t] = t;             // race no_syncwarp
  out[t] = s[t ^ 1];    // race no_syncwarp
}
RUN(no_syncwarp) { return launch(1, 32, 0, no_syncwarp, Device<int>(32)); }

__global__ void syncwarp(int *out) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  s[t] = t;
  __syncwarp();
  out[t] = s[t ^ 31];
  __syncwarp();
  s[t ^ 7] = 0;
}
RUN(syncwarp) { return launch(1, 64, 0, syncwarp, Device<int>(64)); }

__global__ void syncwarp_for_block(int *out) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  s[t] = t;              // race syncwarp_for_block
  __syncwarp();
  out[t] = s[63 - t];    // race syncwarp_for_block
}
RUN(syncwarp_for_block) { return launch(1, 64, 0, syncwarp_for_block, Device<int>(64)); }

__global__ void half_warps(int *out, int partner) {
  __shared__ int s[32];
  const int t = threadIdx.x;
  s[t] = t;                                            // race half_warps
  __syncwarp(t < 16 ? 0x0000ffffu : 0xffff0000u);
  out[t] = s[t ^ partner];                             // race half_warps
}
RUN(half_warps) { return launch(1, 32, 0, half_warps, Device<int>(32), 16); }
RUN(within_half_warps) { return launch(1, 32, 0, half_warps, Device<int>(32), 15); }

__global__ void shuffled(int *out) {
  __shared__ int s[32];
  const int t = threadIdx.x;
  s[t] = t;                                            // race shuffled
  const int other = __shfl_xor_sync(kAll, t, 1);
  out[t] = s[other];                                   // race shuffled
}
RUN(shuffled) { return launch(1, 32, 0, shuffled, Device<int>(32)); }

__global__ void voted(int *out) {
  __shared__ int s[32];
  const int t = threadIdx.x;
  s[t] = t;                                            // race voted
  if (__all_sync(kAll, t < 32)) out[t] = s[t ^ 1];     // race voted
}
RUN(voted) { return launch(1, 32, 0, voted, Device<int>(32)); }

// Lane 0 writes, meets lane 1, which meets lane 2, which reads.
__global__ void handed_on(int *out) {
  __shared__ int s;
  const int t = threadIdx.x;
  if (t == 0) s = 7;
  if (t < 2) __syncwarp(3);
  if (t == 1 || t == 2) __syncwarp(6);
  if (t == 2) out[0] = s;
}
RUN(handed_on) { return launch(1, 32, 0, handed_on, Device<int>(1)); }

// Lane 2 meets lane 1, which has not met lane 0 yet.
__global__ void handed_on_too_early(int *out) {
  __shared__ int s;
  const int t = threadIdx.x;
  if (t == 0) s = 7;         // race handed_on_too_early
  if (t == 1 || t == 2) __syncwarp(6);
  if (t < 2) __syncwarp(3);
  if (t == 2) out[0] = s;    // race handed_on_too_early
}
RUN(handed_on_too_early) { return launch(1, 32, 0, handed_on_too_early, Device<int>(1)); }

// Lanes 1 and 3 read; lane 2 writes after it has met lane 1 only.
__global__ void one_reader_unmet(int *out, int readers) {
  __shared__ int s;
  const int t = threadIdx.x;
  if (t == 0) s = 7;
  __syncthreads();
  if (readers >> t & 1) out[t] = s;    // race one_reader_unmet
  if (t == 1 || t == 2) __syncwarp(6);
  if (t == 2) s = 8;                   // race one_reader_unmet
}
RUN(one_reader_unmet) { return launch(1, 32, 0, one_reader_unmet, Device<int>(32), 2 | 8); }
RUN(all_readers_met) { return launch(1, 32, 0, one_reader_unmet, Device<int>(32), 2); }
RUN(reads_before_it_writes) { return launch(1, 32, 0, one_reader_unmet, Device<int>(32), 2 | 4); }

// Many read what one then writes; `writer` is in one of the readers' warps, or in none of them.
__global__ void written_while_read(int *out, int readers, int writer) {
  __shared__ int s;
  const int t = threadIdx.x;
  if (t == 0) s = 7;
  __syncthreads();
  if (t < readers) out[t] = s;    // race written_while_read
  if (t == writer) s = 8;         // race written_while_read
}
RUN(written_while_read) { return launch(1, 128, 0, written_while_read, Device<int>(128), 1, 127); }
RUN(written_while_read_by_all) { return launch(1, 128, 0, written_while_read, Device<int>(128), 128, 40); }
RUN(written_by_its_only_reader) { return launch(1, 128, 0, written_while_read, Device<int>(128), 1, 0); }

__global__ void same_element(int *out) { out[0] = blockIdx.x; }    // race same_element
RUN(same_element) { return launch(2, 1, 0, same_element, Device<int>(1)); }
RUN(same_element_in_launches) {
  Device<int> out(1);
  const int first = launch(1, 1, 0, same_element, out.data);
  return first ? first : launch(1, 1, 0, same_element, out.data);
}

__global__ void neighbour_block(int *data, int *out) {
  const int b = blockIdx.x;
  data[b] = b;                                // race neighbour_block
  __syncthreads();
  __threadfence();
  out[b] = data[b == 0 ? gridDim.x - 1 : b - 1];    // race neighbour_block
}
RUN(neighbour_block) { return launch(4, 32, 0, neighbour_block, Device<int>(4), Device<int>(4)); }

// Every block reads the element that the last one writes.
__global__ void written_by_last_block(int *data, int *out) {
  const int b = blockIdx.x;
  out[b] = data[0];                           // race written_by_last_block
  if (b + 1 == int(gridDim.x)) data[0] = 1;   // race written_by_last_block
}
RUN(written_by_last_block) { return launch(5, 1, 0, written_by_last_block, Device<int>(1), Device<int>(5)); }

__global__ void all_read(const int *data, int *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 4; ++k) out[i] += data[k];
}
RUN(all_read) { return launch(3, 64, 0, all_read, Device<int>(4), Device<int>(3 * 64)); }

__global__ void atomics(int *sum) {
  __shared__ int s;
  if (threadIdx.x == 0) s = 0;
  __syncthreads();
  atomicAdd(&s, 1);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(sum, s);
}
RUN(atomics) { return launch(3, 64, 0, atomics, Device<int>(1)); }

__global__ void atomic_and_read(int *sum, int *out) {
  atomicAdd(sum, 1);              // race atomic_and_read
  out[threadIdx.x] = sum[0];      // race atomic_and_read
}
RUN(atomic_and_read) { return launch(1, 64, 0, atomic_and_read, Device<int>(1), Device<int>(64)); }

__global__ void atomic_and_write(int *sum) {
  atomicMax(sum, 1);                          // race atomic_and_write
  if (threadIdx.x == 0) sum[0] = 0;           // race atomic_and_write
}
RUN(atomic_and_write) { return launch(2, 1, 0, atomic_and_write, Device<int>(1)); }

__global__ void bytes(char *data) { data[threadIdx.x] = 1; }
RUN(bytes) { return launch(1, 64, 0, bytes, Device<char>(64)); }

// Thread 0 writes a word of which thread 1 writes the third byte.
__global__ void byte_of_a_word(char *data) {
  if (threadIdx.x == 0) *reinterpret_cast<int *>(data) = 1;    // race byte_of_a_word
  if (threadIdx.x == 1) data[2] = 1;                           // race byte_of_a_word
}
RUN(byte_of_a_word) { return launch(1, 2, 0, byte_of_a_word, Device<char>(8)); }

// Bytes, words and vectors of one array, each thread within its own sixteen bytes.
__global__ void mixed_widths(char *data) {
  char *own = data + 16 * threadIdx.x;
  *reinterpret_cast<float4 *>(own) = make_float4(1, 2, 3, 4);
  *reinterpret_cast<double *>(own + 8) = 1;
  own[3] = own[9];
  *reinterpret_cast<short *>(own + 14) = 1;
}
RUN(mixed_widths) { return launch(1, 32, 0, mixed_widths, Device<char>(32 * 16)); }

__global__ void vectors(double2 *data) {
  const int t = threadIdx.x;
  data[t] = make_double2(t, t);                                              // race vectors
  reinterpret_cast<double *>(data)[(2 * t + 3) % 64] += 1;                   // race vectors
}
RUN(vectors) { return launch(1, 32, 0, vectors, Device<double2>(32)); }

__global__ void in_dynamic_shared(int *out) {
  extern __shared__ int buffer[];
  const int t = threadIdx.x;
  buffer[t] = t;              // race in_dynamic_shared
  out[t] = buffer[t ^ 32];    // race in_dynamic_shared
}
RUN(in_dynamic_shared) { return launch(1, 64, 64 * sizeof(int), in_dynamic_shared, Device<int>(64)); }

__global__ void cached(const int *data, int *out) {
  __stcg(out + threadIdx.x, __ldg(data));                 // race cached
  if (threadIdx.x == 0) out[1] = 3;                       // race cached
}
RUN(cached) { return launch(1, 2, 0, cached, Device<int>(1), Device<int>(2)); }

__global__ void deep_grid(int *out) {
  out[threadIdx.y] = 1;    // race deep_grid
}
RUN(deep_grid) { return launch(dim3(1, 2, 3), dim3(2, 3), 0, deep_grid, Device<int>(3)); }
