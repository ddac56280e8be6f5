// jacobi-2d.c:22: B[i * n + j] = 0.2f * (A[i * n + j] + A[i * n + j - 1] + A[i * n + j + 1] + A[(i + 1) * n + j]
//     + A[(i - 1) * n + j]);
// classic (fused) schedule; blocks: bi = y, bj = x; 32 x 8 x 1 threads
extern "C" __global__ void __launch_bounds__(256) jacobi_2d_scop0_k0(int n, float *__restrict__ B,
        const float *A)
{
    const int bj = blockIdx.x;
    const int tj = threadIdx.x;
    const int ti = threadIdx.y;

    polytile_await_launches();
    for (int bi = blockIdx.y; bi <= (n - 2) / 8; bi += gridDim.y) {
        int i = ti + 8 * bi;  // jacobi-2d.c:22
        int j = tj + 32 * bj;
        if (n >= i + 2 && i >= 1 && n >= j + 2 && j >= 1) {
            B[(long long)i * n + j] = 0.2f * (A[(long long)i * n + j] + A[(long long)i * n + j - 1] +
                    A[(long long)i * n + j + 1] + A[(long long)(i + 1) * n + j] + A[(long long)(i - 1) * n + j]);
        }
    }
}

// jacobi-2d.c:27: A[i * n + j] = 0.2f * (B[i * n + j] + B[i * n + j - 1] + B[i * n + j + 1] + B[(i + 1) * n + j]
//     + B[(i - 1) * n + j]);
// classic (fused) schedule; blocks: bi = y, bj = x; 32 x 8 x 1 threads
extern "C" __global__ void __launch_bounds__(256) jacobi_2d_scop0_k1(int n, const float *B,
        float *__restrict__ A)
{
    const int bj = gridDim.x - 1 - blockIdx.x;
    const int tj = threadIdx.x;
    const int ti = threadIdx.y;

    polytile_await_launches();
    for (int bi = gridDim.y - 1 - blockIdx.y; bi <= (n - 2) / 8; bi += gridDim.y) {
        int i = ti + 8 * bi;  // jacobi-2d.c:27
        int j = tj + 32 * bj;
        if (n >= i + 2 && i >= 1 && n >= j + 2 && j >= 1) {
            A[(long long)i * n + j] = 0.2f * (B[(long long)i * n + j] + B[(long long)i * n + j - 1] +
                    B[(long long)i * n + j + 1] + B[(long long)(i + 1) * n + j] + B[(long long)(i - 1) * n + j]);
        }
    }
}
