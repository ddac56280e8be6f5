// What the language promises: sizes, alignments, overloads. Compiled by nvcc and by the emulator alike.
#include <cuda_runtime.h>

template <class A, class B>
struct same {
  static constexpr bool value = false;
};
template <class A>
struct same<A, A> {
  static constexpr bool value = true;
};
#define HAS_TYPE(T, ...) static_assert(same<T, decltype(__VA_ARGS__)>::value, #__VA_ARGS__)

static_assert(alignof(float2) == 8 && alignof(float4) == 16 && alignof(double2) == 16 && alignof(int2) == 8, "");
static_assert(sizeof(float3) == 12 && alignof(float3) == 4 && sizeof(int4) == 16 && sizeof(uint3) == 12, "");
static_assert(sizeof(dim3) == 12 && sizeof(longlong2) == 16 && sizeof(double3) == 24 && alignof(uchar4) == 4, "");

static_assert(cudaErrorInvalidValue == 1 && cudaErrorMemoryAllocation == 2 && cudaErrorInitializationError == 3, "");
static_assert(cudaErrorInvalidConfiguration == 9 && cudaErrorInvalidPitchValue == 12 && cudaErrorInvalidSymbol == 13, "");
static_assert(cudaErrorInvalidMemcpyDirection == 21 && cudaErrorInvalidDeviceFunction == 98, "");
static_assert(cudaErrorNoDevice == 100 && cudaErrorInvalidDevice == 101 && cudaErrorInvalidResourceHandle == 400, "");
static_assert(cudaErrorNotReady == 600 && cudaErrorIllegalAddress == 700 && cudaErrorLaunchOutOfResources == 701, "");
static_assert(cudaErrorLaunchTimeout == 702 && cudaErrorAssert == 710 && cudaErrorMisalignedAddress == 716, "");
static_assert(cudaErrorLaunchFailure == 719 && cudaErrorCooperativeLaunchTooLarge == 720, "");
static_assert(cudaErrorNotSupported == 801 && cudaErrorUnknown == 999, "");
static_assert(cudaFuncAttributeMaxDynamicSharedMemorySize == 8 && cudaMemoryTypeDevice == 2, "");
static_assert(cudaDevAttrMaxSharedMemoryPerBlockOptin == 97 && cudaDevAttrMultiProcessorCount == 16, "");
static_assert(cudaDevAttrComputeCapabilityMajor == 75 && cudaDevAttrMaxBlocksPerMultiprocessor == 106, "");
static_assert(cudaDevAttrL2CacheSize == 38 && cudaDevAttrMaxSharedMemoryPerMultiprocessor == 81, "");
static_assert(cudaDevAttrWarpSize == 10 && cudaDevAttrMaxThreadsPerMultiProcessor == 39, "");
static_assert(cudaLaunchAttributeCooperative == 2 && cudaLaunchAttributeClusterDimension == 4, "");

__constant__ double weights[3] = {0.25, 0.5, 0.25};
static __device__ int square(int x) { return x * x; }
__noinline__ __device__ int cube(int x) { return x * square(x); }

struct __align__(16) Pair {
  double a, b;
};

__global__ void __launch_bounds__(32, 1) overloads(double *out, const float *f, const double *d, const int *i) {
  HAS_TYPE(float, sqrt(f[0]));
  HAS_TYPE(float, exp(f[0]));
  HAS_TYPE(float, fabs(f[0]));
  HAS_TYPE(float, abs(f[0]));
  HAS_TYPE(float, pow(f[0], f[1]));
  HAS_TYPE(float, fmin(f[0], f[1]));
  HAS_TYPE(float, fma(f[0], f[0], f[0]));
  HAS_TYPE(float, floor(f[0]));
  HAS_TYPE(float, rsqrt(f[0]));
  HAS_TYPE(float, min(f[0], f[1]));
  HAS_TYPE(double, min(f[0], d[1]));
  HAS_TYPE(double, sqrt(d[0]));
  HAS_TYPE(double, sqrt(i[0]));
  HAS_TYPE(double, fmax(f[0], d[0]));
  HAS_TYPE(int, abs(i[0]));
  HAS_TYPE(int, min(i[0], 3));
  HAS_TYPE(unsigned, max(i[0], 3u));
  HAS_TYPE(long long, max(3ll, -3ll));
  HAS_TYPE(float, __shfl_xor_sync(~0u, f[0], 1));
  HAS_TYPE(unsigned, threadIdx.x);
  int k = 0;
  out[k++] = sqrt(f[0]);
  out[k++] = sqrt(d[0]);
  out[k++] = fabs(f[1]) + abs(i[1]) + fabs(d[1]);
  out[k++] = pow(f[0], 3.0f) - powf(f[0], 3);
  out[k++] = __fma_rn(d[0], d[0], -d[0] * d[0]);
  out[k++] = fma(d[0], d[0], -__dmul_rn(d[0], d[0]));
  out[k++] = __longlong_as_double(__double_as_longlong(d[1]) ^ (1ll << 63));
  out[k++] = __int_as_float(__float_as_int(f[1]) & 0x7fffffff);
  out[k++] = __hiloint2double(__double2hiint(d[0]), __double2loint(d[0]));
  out[k++] = __popc(0xff00u) + __clz(1) + __ffs(8) + __popcll(~0ull) + __clzll(0);
  out[k++] = __brev(1u);
  out[k++] = __byte_perm(0x33221100u, 0x77665544u, 0x7531);
  out[k++] = __mulhi(1 << 30, 12) + __umulhi(1u << 31, 6) + __mul24(-3, 5);
  out[k++] = __double2int_rn(2.5) + 10 * __double2int_rz(-2.9) + 100 * __double2int_rd(-2.1) + 1000 * __double2int_ru(2.1);
  out[k++] = min(i[0], i[1]) + max(7u, 3) + min(3ll, 2ll) + max(1.5f, 2.5);
  out[k++] = weights[0] + weights[1] + cube(3);
  out[k++] = __ldg(d) + __ldcs(f);
  __stcs(out + k, 5);
  ++k;
  float4 four = make_float4(1, 2, 3, 4);
  double2 two = *reinterpret_cast<const double2 *>(d);
  out[k++] = four.x + four.w + two.x + two.y;
  Pair pair = {1.0, 2.0};
  out[k++] = pair.a + pair.b + warpSize;
  out[k++] = __funnelshift_l(0x80000000u, 1u, 1);
  out[k++] = exp10(2.0) + cospi(0.5) + sinpi(1.0) + hypot(3.0, 4.0) + cbrt(27.0f) + rsqrt(4.0) + copysign(2.0, -1.0);
  out[k++] = round(2.5) + rint(2.5) + trunc(-2.5f) + fmod(7.5, 2.0) + isnan(d[0]) + isinf(d[0]) + signbit(d[1]);
  out[k++] = d[0] * d[1] + d[2];
}

extern "C" int run_overloads(double *out, int count, const float *f, const double *d, const int *i) {
  double *device_out = nullptr, *device_d = nullptr;
  float *device_f = nullptr;
  int *device_i = nullptr;
  cudaMalloc(&device_out, count * sizeof(double));
  cudaMalloc(&device_f, 2 * sizeof(float));
  cudaMalloc(&device_d, 4 * sizeof(double));
  cudaMalloc(&device_i, 2 * sizeof(int));
  cudaMemcpy(device_f, f, 2 * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(device_d, d, 4 * sizeof(double), cudaMemcpyHostToDevice);
  cudaMemcpy(device_i, i, 2 * sizeof(int), cudaMemcpyHostToDevice);
  cudaLaunchConfig_t config = {};
  config.gridDim = 1;
  config.blockDim = 1;
  cudaError_t error = cudaLaunchKernelEx(&config, overloads, device_out, device_f, device_d, device_i);
  if (error == cudaSuccess) error = cudaMemcpy(out, device_out, count * sizeof(double), cudaMemcpyDeviceToHost);
  cudaFree(device_out);
  cudaFree(device_f);
  cudaFree(device_d);
  cudaFree(device_i);
  return error;
}
