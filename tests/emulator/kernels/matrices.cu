// Matrix products of a warp, and vector accesses. Each run_NAME returns what the launch returned.
#include "checked.h"

// d += a * b of a 16 x 8 matrix a (row by row), an 8 x 8 or 4 x 8 matrix b and a 16 x 8 matrix d, by each of the warps.
template <int K>
__device__ __forceinline__ void multiply(const double *a, const double *b, double *d) {
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  d += threadIdx.x / 32 * 128;
  double r[4];
  for (int i = 0; i < 4; ++i) r[i] = d[(g + i / 2 * 8) * 8 + 2 * t + i % 2];
  if constexpr (K == 8)
    polytile_mma_m16n8k8(r[0], r[1], r[2], r[3], a[g * K + t], a[(g + 8) * K + t], a[g * K + t + 4],
                         a[(g + 8) * K + t + 4], b[t * 8 + g], b[(t + 4) * 8 + g]);
  else
    polytile_mma_m16n8k4(r[0], r[1], r[2], r[3], a[g * K + t], a[(g + 8) * K + t], b[t * 8 + g]);
  for (int i = 0; i < 4; ++i) d[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = r[i];
}
__global__ void multiply8(const double *a, const double *b, double *d) { multiply<8>(a, b, d); }
__global__ void multiply4(const double *a, const double *b, double *d) { multiply<4>(a, b, d); }

static int multiplied(void (*kernel)(const double *, const double *, double *), int k, const double *a, const double *b,
                      double *d, int warps) {
  const size_t size = warps * 128 * sizeof(double);
  Device<double> on_a(16 * k), on_b(8 * k), on_d(warps * 128);
  cudaMemcpy(on_a.data, a, 16 * k * sizeof(double), cudaMemcpyHostToDevice);
  cudaMemcpy(on_b.data, b, 8 * k * sizeof(double), cudaMemcpyHostToDevice);
  cudaMemcpy(on_d.data, d, size, cudaMemcpyHostToDevice);
  const int status = launch(1, 32 * warps, 0, kernel, on_a.data, on_b.data, on_d.data);
  if (status == 0) cudaMemcpy(d, on_d.data, size, cudaMemcpyDeviceToHost);
  return status;
}
extern "C" int multiply_8(const double *a, const double *b, double *d, int warps) {
  return multiplied(multiply8, 8, a, b, d, warps);
}
extern "C" int multiply_4(const double *a, const double *b, double *d, int warps) {
  return multiplied(multiply4, 4, a, b, d, warps);
}

__global__ void without_lane(double *d, int lane, bool ends) {
  double r[4] = {};
  if (int(threadIdx.x) != lane) {
    polytile_mma_m16n8k4(r[0], r[1], r[2], r[3], 1, 1, 1);  // without_lane
  } else if (!ends) {
    __syncwarp();  // elsewhere
  }
  d[threadIdx.x] = r[0];
}
RUN(without_lane) { return launch(1, 32, 0, without_lane, Device<double>(32), 7, false); }
RUN(without_ended_lane) { return launch(1, 32, 0, without_lane, Device<double>(32), 7, true); }
RUN(with_half_a_warp) { return launch(1, 48, 0, without_lane, Device<double>(48), 99, true); }

__global__ void two_shapes(double *d) {
  double r[4] = {};
  if (threadIdx.x < 16)
    polytile_mma_m16n8k4(r[0], r[1], r[2], r[3], 1, 1, 1);
  else
    polytile_mma_m16n8k8(r[0], r[1], r[2], r[3], 1, 1, 1, 1, 1, 1);
  d[threadIdx.x] = r[0];
}
RUN(two_shapes) { return launch(1, 32, 0, two_shapes, Device<double>(32)); }

// What several elements are moved by at once: requests are as wide.
__global__ void __launch_bounds__(64, 4) __cluster_dims__(1, 1, 1)
    wide(const double *from, const float *small, double *to, float *few, int n) {
  __shared__ __align__(16) double s[128];
  const int t = threadIdx.x;
  const double2 v = *(const double2 *)&from[2 * t];                                            // load of pairs
  const float4 w = t < n ? __ldg((const float4 *)&small[4 * t]) : make_float4(0, 0, 0, 0);      // load of fours
  *(double2 *)&s[2 * t] = v;                                                                    // shared pairs
  __syncthreads();
  const double2 u = *(const double2 *)&s[2 * (63 - t)];                                         // shared pairs read
  __stcs((double2 *)&to[2 * t], make_double2(u.y, u.x));                                        // store of pairs
  if (t < n) __stcg((float4 *)&few[4 * t], make_float4(w.w, w.z, w.y, w.x));                    // store of fours
}
__global__ void __maxnreg__(128) copied(const double *from, double *to, int n) {
  __shared__ double s[64];
  const int t = threadIdx.x;
  polytile_copy_async<8>(&s[63 - t], &from[2 * t], t < n);  // a copy
  polytile_commit_copies();
  polytile_wait_copies<0>();
  to[t] = s[63 - t];  // a result
}
RUN(wide) {
  Device<double> from(128), to(128);
  Device<float> small(256), few(256);
  double values[128];
  for (int i = 0; i < 128; ++i) values[i] = i;
  cudaMemcpy(from.data, values, sizeof values, cudaMemcpyHostToDevice);
  const int status = launch(1, 64, 0, wide, from.data, small.data, to.data, few.data, 40);
  if (status) return status;
  cudaMemcpy(values, to.data, sizeof values, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 128; ++i)
    if (values[i] != 127 - i) return 1000;
  return 0;
}
RUN(copied) { return launch(1, 64, 0, copied, Device<double>(128), Device<double>(64), 40); }
