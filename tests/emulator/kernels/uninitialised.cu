// Kernels that read what nothing has written, and some that do not. The lines end with `// unwritten NAME`.
#include "checked.h"

__global__ void shared(int *out, int written) {
  __shared__ int s[32];
  if (threadIdx.x < written) s[threadIdx.x] = 1;
  __syncthreads();
  out[32 * blockIdx.x + threadIdx.x] = s[31 - threadIdx.x];    // unwritten shared
}
RUN(shared_all) { return launch(2, 32, 0, shared, Device<int>(64), 32); }
RUN(shared_but_one) { return launch(1, 32, 0, shared, Device<int>(32), 31); }

// Only the first block writes: the second has shared memory of its own.
__global__ void first_block(int *out) {
  __shared__ int s;
  if (blockIdx.x == 0) s = 1;
  out[blockIdx.x] = s;    // unwritten first_block
}
RUN(first_block) { return launch(2, 1, 0, first_block, Device<int>(2)); }

__global__ void dynamic(int *out) {
  extern __shared__ int buffer[];
  if (threadIdx.x != 3) buffer[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = buffer[threadIdx.x];    // unwritten dynamic
}
RUN(dynamic) { return launch(1, 32, 128, dynamic, Device<int>(32)); }

__global__ void sum(const short *data, int *out, int n) {
  for (int i = 0; i < n; ++i) out[0] += data[i];    // unwritten sum
}
RUN(sum_of_fresh_memory) { return launch(1, 1, 0, sum, Device<short>(8, false), Device<int>(1), 8); }
RUN(sum_of_part) {
  Device<short> data(8, false);
  (void)cudaMemset(data, 0, 7);
  return launch(1, 1, 0, sum, data.data, Device<int>(1), 4);
}
RUN(sum_of_written_part) {
  Device<short> data(8, false);
  (void)cudaMemset(data, 0, 8);
  return launch(1, 1, 0, sum, data.data, Device<int>(1), 4);
}
RUN(sum_of_copied) {
  Device<short> data(8, false), copy(8, false);
  (void)cudaMemset(data, 0, 8);
  (void)cudaMemcpy(copy, data, 16, cudaMemcpyDeviceToDevice);
  return launch(1, 1, 0, sum, copy.data, Device<int>(1), 5);
}

__global__ void produce(short *data, int n) {
  if (int(threadIdx.x) < n) data[threadIdx.x] = 1;
}
RUN(sum_of_produced) {
  Device<short> data(8, false);
  const int status = launch(1, 8, 0, produce, data.data, 8);
  return status ? status : launch(1, 1, 0, sum, data.data, Device<int>(1), 8);
}
RUN(copied_out) {
  Device<short> data(8, false);
  short host[8];
  const int status = launch(1, 8, 0, produce, data.data, 7);
  return status ? status : cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
}
RUN(written_copied_out) {
  Device<short> data(8, false);
  short host[7];
  const int status = launch(1, 8, 0, produce, data.data, 7);
  return status ? status : cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
}

__global__ void accumulate(int *out) { atomicAdd(out, 1); }    // unwritten accumulate
RUN(accumulate) { return launch(1, 1, 0, accumulate, Device<int>(1, false)); }

// Memory that was freed and is given out again is new.
RUN(reused) {
  { Device<short> first(8); }
  return launch(1, 1, 0, sum, Device<short>(8, false), Device<int>(1), 8);
}
