// atax.c:22: tmp[i] = 0.0f;
// atax.c:24: tmp[i] = tmp[i] + A[i * n + j] * x[j];
// classic (fused) schedule; blocks: bi = x; 32 x 1 x 1 threads
extern "C" __global__ void __launch_bounds__(32) atax_scop0_k0(int n, int m, float *__restrict__ tmp,
        const float *__restrict__ A, const float *__restrict__ x)
{
    const int bi = blockIdx.x;
    const int ti = threadIdx.x;

    polytile_await_launches();
    if (m >= ti + 32 * bi + 1) {
        {
            int i = ti + 32 * bi;  // atax.c:22
            tmp[i] = 0.0f;
        }
        if (0 < n) {
            int i = ti + 32 * bi;  // atax.c:24
            float tmp_acc = tmp[i];
            for (int j = 0; j < n; ++j) {
                tmp_acc = tmp_acc + A[(long long)i * n + j] * x[j];
            }
            tmp[i] = tmp_acc;
        }
    }
}

// atax.c:20: y[i] = 0;
// atax.c:26: y[j] = y[j] + A[i * n + j] * tmp[i];
// classic (fused) schedule; blocks: b0 = x; 32 x 1 x 1 threads
extern "C" __global__ void __launch_bounds__(32) atax_scop0_k1(int n, int m, float *__restrict__ y,
        const float *tmp, const float *__restrict__ A)
{
    const int b0 = gridDim.x - 1 - blockIdx.x;
    const int t0 = threadIdx.x;

    polytile_await_launches();
    if (n >= t0 + 32 * b0 + 1) {
        {
            int i = t0 + 32 * b0;  // atax.c:20
            y[i] = 0;
        }
        if (0 < m) {
            int j = t0 + 32 * b0;  // atax.c:26
            float y_acc = y[j];
            for (int i = 0; i < m; ++i) {
                y_acc = y_acc + A[(long long)i * n + j] * tmp[i];
            }
            y[j] = y_acc;
        }
    }
}
