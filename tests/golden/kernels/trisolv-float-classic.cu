// trisolv.c:28: x[i] = b[i];
// classic (fused) schedule; blocks: bi = x; 128 x 1 x 1 threads
extern "C" __global__ void __launch_bounds__(128) kernel_trisolv_scop0_k0(int n, float *__restrict__ x,
        const float *__restrict__ b)
{
    const int bi = blockIdx.x;
    const int ti = threadIdx.x;

    polytile_await_launches();
    {
        int i = ti + 128 * bi;  // trisolv.c:28
        if (n >= i + 1) {
            x[i] = b[i];
        }
    }
}

// trisolv.c:31: x[i] = x[i] / L[i][i];
// classic (fused) schedule; blocks: one block; 1 x 1 x 1 threads
extern "C" __global__ void __launch_bounds__(1) kernel_trisolv_scop0_k1(int n, int j, float *__restrict__ x,
        const float *__restrict__ L)
{
    polytile_await_launches();
    {
        int i = j;  // trisolv.c:31
        x[i] = x[i] / L[(long long)i * n + i];
    }
}

// trisolv.c:30: x[i] -= L[i][j] * x[j];
// classic (fused) schedule; blocks: bi = x; 128 x 1 x 1 threads
extern "C" __global__ void __launch_bounds__(128) kernel_trisolv_scop0_k2(int n, int j, float *__restrict__ x,
        const float *__restrict__ L)
{
    const int ti = threadIdx.x;

    polytile_await_launches();
    int bi = (j + 129) / 128 - 1 + blockIdx.x;
    {
        int i = ti + 128 * bi;  // trisolv.c:30
        if (i >= j + 1 && n >= i + 1) {
            x[i] -= L[(long long)i * n + j] * x[j];
        }
    }
}
