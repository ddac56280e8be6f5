// The quotient of a division by a positive number, rounded down.
template <typename A, typename C> __host__ __device__ __forceinline__ auto polytile_floord(A a, C c) -> decltype(a / c)
{
    return a / c - (a % c < 0);
}

namespace polytile_structs_types {

struct point { double x; bool flag; double polytile_new; };

extern "C" __global__ void __launch_bounds__(64) structs_0(int n, struct point *__restrict__ p,
        struct point o)
{
    const int bx = blockIdx.x;
    const int tx = threadIdx.x;

    if (64 * bx + tx < n) {
        p[64 * bx + tx].polytile_new += o.x;
    }
}

}  // namespace polytile_structs_types
