#include <hip/hip_runtime.h>

#ifndef POLYTILE_EMULATOR
// Copies 4, 8 or 16 bytes at once; zeros unless `read`.
template <int BYTES> __device__ __forceinline__ void polytile_copy_async(void *to, const void *from, bool read)
{
    if (read) __builtin_memcpy(to, from, BYTES);
    else __builtin_memset(to, 0, BYTES);
}

__device__ __forceinline__ void polytile_commit_copies() {}
template <int PENDING> __device__ __forceinline__ void polytile_wait_copies() {}

#endif

// Whether a vector of so many bytes may be at each address.
template <int BYTES, typename... Elements> __device__ __forceinline__ bool polytile_aligned(const Elements *...addresses)
{
    return ((reinterpret_cast<size_t>(addresses) | ...) & (BYTES - 1)) == 0;
}

// The line of an address in global memory is fetched into L2.
__device__ __forceinline__ void polytile_prefetch(const void *address)
{
#ifdef __CUDA_ARCH__
    asm volatile("prefetch.global.L2 [%0];" :: "l"(address));
#endif
}

// The same in all lanes of the warp.
template <typename T> __device__ __forceinline__ T polytile_warp_sum(T value)
{
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor(value, lanes, 32);
        value = value + other;
    }
    return value;
}

// The same in all lanes of the warp.
template <typename T> __device__ __forceinline__ T polytile_warp_product(T value)
{
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor(value, lanes, 32);
        value = value * other;
    }
    return value;
}

// The same in all lanes of the warp, lane 0's where NaNs and signed zeros make a difference.
template <typename T> __device__ __forceinline__ T polytile_warp_min(T value)
{
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor(value, lanes, 32);
        value = other < value ? other : value;
    }
    return __shfl(value, 0, 32);
}

// The same in all lanes of the warp, lane 0's where NaNs and signed zeros make a difference.
template <typename T> __device__ __forceinline__ T polytile_warp_max(T value)
{
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor(value, lanes, 32);
        value = other > value ? other : value;
    }
    return __shfl(value, 0, 32);
}

// The same in all lanes of the warp.
template <typename T> __device__ __forceinline__ T polytile_warp_and(T value)
{
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor(value, lanes, 32);
        value = value & other;
    }
    return value;
}

// The same in all lanes of the warp.
template <typename T> __device__ __forceinline__ T polytile_warp_or(T value)
{
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor(value, lanes, 32);
        value = value | other;
    }
    return value;
}

// The same in all lanes of the warp.
template <typename T> __device__ __forceinline__ T polytile_warp_xor(T value)
{
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor(value, lanes, 32);
        value = value ^ other;
    }
    return value;
}

// The same in all of LANES neighbouring lanes; other lanes of the warp may be elsewhere.
template <int LANES, typename T> __device__ __forceinline__ T polytile_segment_sum(T value)
{
    for (int lanes = LANES / 2; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor(value, lanes, LANES);
        value = value + other;
    }
    return value;
}

// The same in all of LANES neighbouring lanes, lane 0's where NaNs and signed zeros make a difference; other lanes of the warp may be elsewhere.
template <int LANES, typename T> __device__ __forceinline__ T polytile_segment_fmin(T value)
{
    for (int lanes = LANES / 2; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor(value, lanes, LANES);
        value = fmin(value, other);
    }
    return __shfl(value, 0, LANES);
}

// The same in all of LANES neighbouring lanes, lane 0's where NaNs and signed zeros make a difference; other lanes of the warp may be elsewhere.
template <int LANES, typename T> __device__ __forceinline__ T polytile_segment_fmax(T value)
{
    for (int lanes = LANES / 2; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor(value, lanes, LANES);
        value = fmax(value, other);
    }
    return __shfl(value, 0, LANES);
}

// Lane l gets what polytile_warp_product makes of value number l / (32 / count), of as many values as there are.
template <typename T, typename... Rest> __device__ __forceinline__ T polytile_each_product(T first, Rest... rest)
{
    constexpr int COUNT = 1 + sizeof...(rest);
    T values[] = {first, rest...};
    const unsigned lane = __lane_id() % 32;
#pragma unroll
    for (int half = COUNT / 2; half > 0; half /= 2) {
        const int lanes = 32 * half / COUNT;
#pragma unroll
        for (int k = 0; k < half; ++k) {
            const bool upper = lane & lanes;
            const T sent = upper ? values[k] : values[k + half];
            const T value = upper ? values[k + half] : values[k], other = __shfl_xor(sent, lanes, 32);
            values[k] = value * other;
        }
    }
    T value = values[0];
    for (int lanes = 16 / COUNT; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor(value, lanes, 32);
        value = value * other;
    }
    return value;
}

extern "C" __global__ void __launch_bounds__(256) portable(int n, int m, const double *__restrict__ A,
        double *__restrict__ B, const float *__restrict__ F, int *__restrict__ C, long long *__restrict__ L)
{
    const int t = threadIdx.x;
    __shared__ __attribute__((aligned(16))) double s[2][512];

    // names
    bool own = (t < n) & (t - 1 >= 0);
    double x[2][2] = {};
    double ones[4] = {1.0, 1.0, 1.0, 1.0};
    double grid[2][2] = {{2.0, 2.0}, {2.0, 2.0}};
    double d[4] = {};
    float f[4];
    double sum;
    int count;
    const double *__restrict__ p = &A[(long long)(t * 4) * m];
    double *q = &B[t];
    double *r = &q[16];
    // copies
    polytile_copy_async<16>(&s[0][t * 2], &p[0], own);
    polytile_copy_async<8>(&s[1][t], &p[8], true);
    polytile_commit_copies();
    polytile_wait_copies<0>();  // the rows of A have come
    __syncthreads();  // the rows of A, for all threads
    #pragma unroll 1
    for (int i = 0; i < 8; ++i) {
        // memory
        const double2 v0 = own ? *(const double2 *)&p[i * 2] : make_double2(0.0, 0.0);
        x[0][0] = v0.x; x[0][1] = v0.y;
        const double2 v1 = *(const double2 *)&p[i * 2];
        x[1][0] = v1.x; x[1][1] = v1.y;
        x[1][0] = own ? p[i] : 0.0;
        sum = p[i];
        if (polytile_aligned<16>(&p[i], &q[0])) {
            const double2 v2 = *(const double2 *)&p[i];
            x[0][0] = v2.x; x[0][1] = v2.y;
        }
        polytile_prefetch(&p[i]);
        const float4 v3 = *(const float4 *)&F[0];
        f[0] = v3.x; f[1] = v3.y; f[2] = v3.z; f[3] = v3.w;
        p -= 5;
        p += m;
        if (own) *(double2 *)&q[8] = make_double2(x[0][0], x[0][1]);
        q[10] = d[0];
        *(double2 *)&r[12] = make_double2(d[0], sum);
        if (own | (i == 3)) q[14] = d[0] + grid[1][1];
        atomicAdd(&B[3], (double)f[3]);
        count = atomicMax(&C[3], i);
        atomicAdd((unsigned long long *)&L[3], (unsigned long long)count);
        // lanes
        x[0][0] += __shfl_up(x[1][1], 1, 32);
        x[0][1] -= __shfl_down(x[1][1], 1, 16) + __shfl_xor(x[0][0], 3, 32);
        sum = __shfl(polytile_warp_max(sum), t + 1, 8);
        sum += polytile_warp_sum(sum);
        sum += polytile_warp_product(sum);
        sum += polytile_warp_min(sum);
        count += polytile_warp_and(count);
        count += polytile_warp_or(count);
        count += polytile_warp_xor(count);
        sum = polytile_each_product(sum, x[0][0], x[0][1], sum);
        sum += polytile_segment_sum<8>(sum);
        sum += polytile_segment_fmin<8>(sum);
        sum += polytile_segment_fmax<8>(sum);
        __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront"); __builtin_amdgcn_wave_barrier();  // the lanes' rows
    }
}
