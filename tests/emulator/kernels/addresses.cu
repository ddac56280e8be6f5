// Kernels that access what is not theirs, and some that come close. The lines end with `// stray NAME`.
#include "checked.h"

__global__ void copy(const float *from, float *to, int n, int read_at, int write_at) {
  const int t = threadIdx.x;
  if (t >= n) return;
  const float value = from[t + read_at];    // stray from
  to[t + write_at] = value;                 // stray to
}
static int run_copy(int n, int read_at, int write_at) {
  return launch(1, 64, 0, copy, Device<float>(50), Device<float>(50), n, read_at, write_at);
}
RUN(copy_all) { return run_copy(50, 0, 0); }
RUN(copy_one_too_many) { return run_copy(51, 0, 0); }
RUN(copy_reads_before) { return run_copy(50, -1, 0); }
RUN(copy_writes_before) { return run_copy(50, 0, -1); }
RUN(copy_writes_behind) { return run_copy(50, 0, 1); }
RUN(copy_reads_far_behind) { return run_copy(1, 100000, 0); }
RUN(copy_reads_far_before) { return run_copy(1, -100000, 0); }

struct __attribute__((packed)) Word {
  int value;
};
__global__ void straddle(char *data) { reinterpret_cast<Word *>(data + 3)->value = 1; }    // stray straddle
RUN(straddle) { return launch(1, 1, 0, straddle, Device<char>(5)); }
RUN(straddle_none) { return launch(1, 1, 0, straddle, Device<char>(7)); }

__global__ void vector(float4 *data) { data[1] = make_float4(0, 0, 0, 0); }    // stray vector
RUN(vector) {
  Device<float> data(7);
  return launch(1, 1, 0, vector, reinterpret_cast<float4 *>(data.data));
}

__global__ void use(int *data) { data[1] = 1; }    // stray use
RUN(use_null) { return launch(1, 1, 0, use, static_cast<int *>(nullptr)); }
RUN(use_freed) {
  int *data = nullptr;
  (void)cudaMalloc(&data, 4 * sizeof *data);
  (void)cudaFree(data);
  return launch(1, 1, 0, use, data);
}
RUN(use_host) {
  static int data[4];
  int *heap = static_cast<int *>(malloc(4 * sizeof(int)));
  const int status = launch(1, 1, 0, use, heap);
  free(heap);
  return status + data[0];
}
RUN(use_managed) {
  int *data = nullptr;
  (void)cudaMallocManaged(&data, 4 * sizeof *data);
  const int status = launch(1, 1, 0, use, data);
  (void)cudaFree(data);
  return status;
}

__device__ int table[4] = {1, 2, 3, 4};
__constant__ int limits[2] = {0, 3};
__global__ void use_variables(int *out) { out[0] = table[limits[1]] + table[out[0]]; }
RUN(use_variables) { return launch(1, 1, 0, use_variables, Device<int>(1)); }

__global__ void foreign_stack(int **where, int *out) {
  int mine[2] = {1, 2};
  if (threadIdx.x == 0) *where = mine;
  __syncthreads();
  if (threadIdx.x == 1) out[0] = (*where)[1];    // stray foreign_stack
  __syncthreads();
  out[1] = mine[threadIdx.x % 2];
}
RUN(foreign_stack) { return launch(1, 2, 0, foreign_stack, Device<int *>(1), Device<int>(2)); }

__global__ void inner_index(const int *at, int *out) {
  __shared__ int s[4][8];
  s[threadIdx.x / 8][threadIdx.x % 8] = 1;
  __syncthreads();
  out[threadIdx.x] = s[0][at[0]];    // stray inner_index
}
static int run_inner_index(int value) {
  Device<int> at(1);
  (void)cudaMemcpy(at, &value, sizeof value, cudaMemcpyHostToDevice);
  return launch(1, 32, 0, inner_index, at.data, Device<int>(32));
}
RUN(inner_index_last) { return run_inner_index(7); }
RUN(inner_index_one_too_far) { return run_inner_index(8); }
RUN(inner_index_negative) { return run_inner_index(-1); }

__global__ void local_array(const int *at, int *out) {
  int mine[3] = {1, 2, 3};
  mine[at[0]] = 4;    // stray local_array
  out[0] = mine[0] + mine[1] + mine[2];
}
static int run_local_array(int value) {
  Device<int> at(1);
  (void)cudaMemcpy(at, &value, sizeof value, cudaMemcpyHostToDevice);
  return launch(1, 1, 0, local_array, at.data, Device<int>(1));
}
RUN(local_array_last) { return run_local_array(2); }
RUN(local_array_one_too_far) { return run_local_array(3); }

__global__ void dynamic(int *out, int n) {
  extern __shared__ int buffer[];
  buffer[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) out[0] = buffer[n];    // stray dynamic
}
RUN(dynamic_last) { return launch(1, 32, 32 * sizeof(int), dynamic, Device<int>(1), 31); }
RUN(dynamic_one_too_far) { return launch(1, 32, 32 * sizeof(int), dynamic, Device<int>(1), 32); }

__global__ void carved(int *out, int n) {
  extern __shared__ __align__(16) unsigned char bytes[];
  int (&first)[2][8] = *(int (*)[2][8])(bytes + 0);
  int (&second)[2][8] = *(int (*)[2][8])(bytes + sizeof first);
  const int t = threadIdx.x;
  first[t / 8][t % 8] = t;
  second[t / 8][t % 8] = -t;
  __syncthreads();
  out[t] = first[1][n];    // stray carved
}
RUN(carved_last) { return launch(1, 16, 128, carved, Device<int>(16), 7); }
RUN(carved_one_too_far) { return launch(1, 16, 128, carved, Device<int>(16), 8); }

__global__ void misaligned(char *data) { *reinterpret_cast<double *>(data + 4) = 1; }    // stray misaligned
RUN(misaligned) { return launch(1, 1, 0, misaligned, Device<char>(16)); }
