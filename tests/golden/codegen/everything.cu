#ifndef POLYTILE_EMULATOR
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "asynchronous copies need sm_80 or later"
#endif

// Copies 4, 8 or 16 bytes of global memory to shared memory, some time before the wait for it; zeros unless `read`.
template <int BYTES> __device__ __forceinline__ void polytile_copy_async(void *to, const void *from, bool read)
{
    const unsigned target = (unsigned)__cvta_generic_to_shared(to);
    const int ignored = !read;
    if constexpr (BYTES == 16)
        asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; cp.async.cg.shared.global [%0], [%1], 16, p; }"
                     :: "r"(target), "l"(from), "r"(ignored) : "memory");
    else
        asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; cp.async.ca.shared.global [%0], [%1], %3, p; }"
                     :: "r"(target), "l"(from), "r"(ignored), "n"(BYTES) : "memory");
}

// The copies of this thread since the last call become a group.
__device__ __forceinline__ void polytile_commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Until at most PENDING of the latest groups are on their way.
template <int PENDING> __device__ __forceinline__ void polytile_wait_copies()
{
    asm volatile("cp.async.wait_group %0;" :: "n"(PENDING) : "memory");
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "split barriers need sm_80 or later"
#endif

// A barrier in two halves: threads arrive, and wait later.
struct polytile_barrier {
    unsigned long long state;
};

__device__ __forceinline__ void polytile_barrier_init(polytile_barrier *b, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;"
                 :: "r"((unsigned)__cvta_generic_to_shared(b)), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void polytile_arrive(polytile_barrier *b)
{
    asm volatile("{ .reg .b64 phase; mbarrier.arrive.shared.b64 phase, [%0]; }"
                 :: "r"((unsigned)__cvta_generic_to_shared(b)) : "memory");
}

// Until the phase of this parity is complete; `try` sleeps a while, `test` (below sm_90) returns at once.
__device__ __forceinline__ void polytile_await(polytile_barrier *b, unsigned parity)
{
#if __CUDA_ARCH__ >= 900
#define POLYTILE_TEST "mbarrier.try_wait.parity.shared.b64"
#else
#define POLYTILE_TEST "mbarrier.test_wait.parity.shared.b64"
#endif
    asm volatile("{ .reg .pred done;\nWAIT_%=: " POLYTILE_TEST " done, [%0], %1;\n@!done bra WAIT_%=; }"
                 :: "r"((unsigned)__cvta_generic_to_shared(b)), "r"(parity) : "memory");
#undef POLYTILE_TEST
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#error "matrix products of doubles of this shape need sm_90 or later"
#endif

// d += a * b by a whole warp, of a 16 x 8 matrix a and an 8 x 8 matrix b.
__device__ __forceinline__ void polytile_mma_m16n8k8(double &d0, double &d1, double &d2, double &d3,
                                                     double a0, double a1, double a2, double a3, double b0, double b1)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 { %0, %1, %2, %3 }, { %4, %5, %6, %7 }, { %8, %9 }, { %0, %1, %2, %3 };"
        : "+d"(d0), "+d"(d1), "+d"(d2), "+d"(d3) : "d"(a0), "d"(a1), "d"(a2), "d"(a3), "d"(b0), "d"(b1));
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#error "matrix products of doubles of this shape need sm_90 or later"
#endif

// d += a * b by a whole warp, of a 16 x 4 matrix a and a 4 x 8 matrix b.
__device__ __forceinline__ void polytile_mma_m16n8k4(double &d0, double &d1, double &d2, double &d3,
                                                     double a0, double a1, double b0)
{
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 { %0, %1, %2, %3 }, { %4, %5 }, { %6 }, { %0, %1, %2, %3 };"
        : "+d"(d0), "+d"(d1), "+d"(d2), "+d"(d3) : "d"(a0), "d"(a1), "d"(b0));
}

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

// base + by modulo 2^32, computed at each use: compilers do not see that two of them are equal, and so keep none.
__device__ __forceinline__ int polytile_offset(unsigned base, unsigned by)
{
#ifdef __CUDA_ARCH__
    int sum;
    asm("add.s32 %0, %1, %2;" : "=r"(sum) : "r"(base), "r"(by));
    return sum;
#else
    return (int)(base + by);
#endif
}

// The same in all lanes of the warp.
template <typename T> __device__ __forceinline__ T polytile_warp_sum(T value)
{
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor_sync(0xffffffffu, value, lanes, 32);
        value = value + other;
    }
    return value;
}

// The same in all lanes of the warp.
template <typename T> __device__ __forceinline__ T polytile_warp_product(T value)
{
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor_sync(0xffffffffu, value, lanes, 32);
        value = value * other;
    }
    return value;
}

// The same in all lanes of the warp, lane 0's where NaNs and signed zeros make a difference.
template <typename T> __device__ __forceinline__ T polytile_warp_min(T value)
{
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor_sync(0xffffffffu, value, lanes, 32);
        value = other < value ? other : value;
    }
    return __shfl_sync(0xffffffffu, value, 0, 32);
}

// The same in all lanes of the warp, lane 0's where NaNs and signed zeros make a difference.
template <typename T> __device__ __forceinline__ T polytile_warp_max(T value)
{
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor_sync(0xffffffffu, value, lanes, 32);
        value = other > value ? other : value;
    }
    return __shfl_sync(0xffffffffu, value, 0, 32);
}

// The same in all lanes of the warp.
template <typename T> __device__ __forceinline__ T polytile_warp_and(T value)
{
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor_sync(0xffffffffu, value, lanes, 32);
        value = value & other;
    }
    return value;
}

// The same in all lanes of the warp.
template <typename T> __device__ __forceinline__ T polytile_warp_or(T value)
{
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor_sync(0xffffffffu, value, lanes, 32);
        value = value | other;
    }
    return value;
}

// The same in all lanes of the warp.
template <typename T> __device__ __forceinline__ T polytile_warp_xor(T value)
{
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor_sync(0xffffffffu, value, lanes, 32);
        value = value ^ other;
    }
    return value;
}

// The same in all of LANES neighbouring lanes; other lanes of the warp may be elsewhere.
template <int LANES, typename T> __device__ __forceinline__ T polytile_segment_sum(T value)
{
    const unsigned lane = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
    const unsigned segment = ((1u << LANES) - 1) << (lane / LANES * LANES);
    for (int lanes = LANES / 2; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor_sync(segment, value, lanes, LANES);
        value = value + other;
    }
    return value;
}

// The same in all of LANES neighbouring lanes, lane 0's where NaNs and signed zeros make a difference; other lanes of the warp may be elsewhere.
template <int LANES, typename T> __device__ __forceinline__ T polytile_segment_fmin(T value)
{
    const unsigned lane = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
    const unsigned segment = ((1u << LANES) - 1) << (lane / LANES * LANES);
    for (int lanes = LANES / 2; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor_sync(segment, value, lanes, LANES);
        value = fmin(value, other);
    }
    return __shfl_sync(segment, value, 0, LANES);
}

// The same in all of LANES neighbouring lanes, lane 0's where NaNs and signed zeros make a difference; other lanes of the warp may be elsewhere.
template <int LANES, typename T> __device__ __forceinline__ T polytile_segment_fmax(T value)
{
    const unsigned lane = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
    const unsigned segment = ((1u << LANES) - 1) << (lane / LANES * LANES);
    for (int lanes = LANES / 2; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor_sync(segment, value, lanes, LANES);
        value = fmax(value, other);
    }
    return __shfl_sync(segment, value, 0, LANES);
}

// Lane l gets what polytile_warp_product makes of value number l / (32 / count), of as many values as there are.
template <typename T, typename... Rest> __device__ __forceinline__ T polytile_each_product(T first, Rest... rest)
{
    constexpr int COUNT = 1 + sizeof...(rest);
    T values[] = {first, rest...};
    const unsigned lane = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
#pragma unroll
    for (int half = COUNT / 2; half > 0; half /= 2) {
        const int lanes = 32 * half / COUNT;
#pragma unroll
        for (int k = 0; k < half; ++k) {
            const bool upper = lane & lanes;
            const T sent = upper ? values[k] : values[k + half];
            const T value = upper ? values[k + half] : values[k], other = __shfl_xor_sync(0xffffffffu, sent, lanes, 32);
            values[k] = value * other;
        }
    }
    T value = values[0];
    for (int lanes = 16 / COUNT; lanes > 0; lanes /= 2) {
        const T other = __shfl_xor_sync(0xffffffffu, value, lanes, 32);
        value = value * other;
    }
    return value;
}

extern "C" __global__ void __launch_bounds__(256, 2) everything(int n, int m, const double *__restrict__ A,
        double *__restrict__ B, const float *__restrict__ F, int *__restrict__ C, long long *__restrict__ L)
{
    const int t = threadIdx.x;
    __shared__ __align__(16) double s[2][512];
    __shared__ __align__(16) polytile_barrier bar[2];

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
    if (t == 0) {
        polytile_barrier_init(&bar[0], 256);
    }
    __syncthreads();  // the split barrier is ready
    // copies
    polytile_copy_async<16>(&s[0][t * 2], &p[0], own);
    polytile_copy_async<8>(&s[1][t], &p[8], true);
    polytile_commit_copies();
    polytile_wait_copies<0>();  // the rows of A have come
    __syncthreads();  // the rows of A, for all threads
    #pragma unroll 1
    for (int i = 0; i < 8; ++i) {
        // memory
        const double2 v0 = own ? __ldcs((const double2 *)&p[i * 2]) : make_double2(0.0, 0.0);
        x[0][0] = v0.x; x[0][1] = v0.y;
        const double2 v1 = __ldg((const double2 *)&p[i * 2]);
        x[1][0] = v1.x; x[1][1] = v1.y;
        x[1][0] = own ? __ldcg(&p[i]) : 0.0;
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
        if (own) __stcs((double2 *)&q[8], make_double2(x[0][0], x[0][1]));
        __stcg(&q[10], d[0]);
        *(double2 *)&r[12] = make_double2(d[0], sum);
        if (own | (i == 3)) q[14] = d[0] + grid[1][1];
        atomicAdd(&B[3], (double)f[3]);
        count = atomicMax(&C[3], i);
        atomicAdd((unsigned long long *)&L[3], (unsigned long long)count);
        // lanes
        x[0][0] += __shfl_up_sync(0xffffffffu, x[1][1], 1, 32);
        x[0][1] -= __shfl_down_sync(0xffffffffu, x[1][1], 1, 16) + __shfl_xor_sync(0xffffffffu, x[0][0], 3, 32);
        sum = __shfl_sync(0xffffffffu, polytile_warp_max(sum), t + 1, 8);
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
        __syncwarp();  // the lanes' rows
        // split barrier
        polytile_arrive(&bar[0]);  // the rows are used
        polytile_await(&bar[0], i & 1);  // the rows are used
        // tensor cores
        polytile_mma_m16n8k8(d[0], d[1], d[2], d[3], ones[0], ones[1], ones[2], ones[3], x[0][0], x[0][1]);
        polytile_mma_m16n8k4(d[0], d[1], d[2], d[3], ones[0], ones[1], x[0][0]);
    }
    #pragma unroll 4
    for (int i = 0; i < 8; ++i) {
        sum += s[1][i];
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        sum += s[0][i];
    }
    sum += q[polytile_offset(t, 5)];
    if (n > 5) {
        return;  // nothing is left
    }
    {
        q[9] = sum + (double)count;
    }
}
