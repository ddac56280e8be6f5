// lu.c:30: A[i][j] /= A[j][j];
// classic (distributed) schedule; blocks: bi = x; 128 x 1 x 1 threads
extern "C" __global__ void __launch_bounds__(128) kernel_lu_scop0_k0(int n, int k, double *__restrict__ A)
{
    const int ti = threadIdx.x;

    polytile_await_launches();
    int bi = (k + 129) / 128 - 1 + blockIdx.x;
    {
        int i = ti + 128 * bi;  // lu.c:30
        int j = k;
        if (i >= j + 1 && n >= i + 1) {
            A[(long long)i * n + j] /= A[(long long)j * n + j];
        }
    }
}

// lu.c:29: A[i][j] -= A[i][k] * A[k][j];
// classic (distributed) schedule; blocks: bi = y, bj = x; 32 x 8 x 1 threads
extern "C" __global__ void __launch_bounds__(256) kernel_lu_scop0_k1(int n, int k, double *__restrict__ A)
{
    const int tj = threadIdx.x;
    const int ti = threadIdx.y;

    polytile_await_launches();
    int bj = (k + 33) / 32 - 1 + (gridDim.x - 1 - blockIdx.x);
    for (int bi = (k + 10) / 8 - 1 + (gridDim.y - 1 - blockIdx.y); bi <= (n - 1) / 8; bi += gridDim.y) {
        int i = ti + 8 * bi;  // lu.c:29
        int j = tj + 32 * bj;
        if (n >= i + 1 && j >= k + 1 && i >= j + 1) {
            A[(long long)i * n + j] -= A[(long long)i * n + k] * A[(long long)k * n + j];
        }
    }
}

// lu.c:34: A[i][j] -= A[i][k] * A[k][j];
// classic (distributed) schedule; blocks: bi = y, bj = x; 32 x 8 x 1 threads
extern "C" __global__ void __launch_bounds__(256) kernel_lu_scop0_k2(int n, int k, double *__restrict__ A)
{
    const int tj = threadIdx.x;
    const int ti = threadIdx.y;

    polytile_await_launches();
    int bj = (k + 33) / 32 - 1 + blockIdx.x;
    for (int bi = (k + 9) / 8 - 1 + blockIdx.y; bi <= (n - 1) / 8; bi += gridDim.y) {
        int i = ti + 8 * bi;  // lu.c:34
        int j = tj + 32 * bj;
        if (i >= k + 1 && n >= j + 1 && j >= i) {
            A[(long long)i * n + j] -= A[(long long)i * n + k] * A[(long long)k * n + j];
        }
    }
}
