// correlation.c:39: mean[j] = 0.0f;
// correlation.c:41: mean[j] += data[i][j];
// correlation.c:42: mean[j] /= float_n;
// classic (fused) schedule; blocks: bj = x; 32 x 1 x 1 threads
extern "C" __global__ void __launch_bounds__(32) kernel_correlation_scop0_k0(int m, int n,
        float *__restrict__ mean, const float *data, float float_n)
{
    const int bj = blockIdx.x;
    const int tj = threadIdx.x;

    polytile_await_launches();
    if (m >= tj + 32 * bj + 1) {
        {
            int j = tj + 32 * bj;  // correlation.c:39
            mean[j] = 0.0f;
        }
        if (0 < n) {
            int j = tj + 32 * bj;  // correlation.c:41
            float mean_acc = mean[j];
            for (int i = 0; i < n; ++i) {
                mean_acc += data[(long long)i * m + j];
            }
            mean[j] = mean_acc;
        }
        {
            int j = tj + 32 * bj;  // correlation.c:42
            mean[j] /= float_n;
        }
    }
}

// correlation.c:46: stddev[j] = 0.0f;
// correlation.c:48: stddev[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
// correlation.c:49: stddev[j] /= float_n;
// correlation.c:50: stddev[j] = sqrtf(stddev[j]);
// correlation.c:51: stddev[j] = (stddev[j] <= eps) ? (1.0f) : (stddev[j]);
// classic (fused) schedule; blocks: bj = x; 32 x 1 x 1 threads
extern "C" __global__ void __launch_bounds__(32) kernel_correlation_scop0_k1(int m, int n, const float *mean,
        const float *data, float float_n, float *__restrict__ stddev, float eps)
{
    const int bj = gridDim.x - 1 - blockIdx.x;
    const int tj = threadIdx.x;

    polytile_await_launches();
    if (m >= tj + 32 * bj + 1) {
        {
            int j = tj + 32 * bj;  // correlation.c:46
            stddev[j] = 0.0f;
        }
        if (0 < n) {
            int j = tj + 32 * bj;  // correlation.c:48
            float stddev_acc = stddev[j];
            for (int i = 0; i < n; ++i) {
                stddev_acc += (data[(long long)i * m + j] - mean[j]) * (data[(long long)i * m + j] - mean[j]);
            }
            stddev[j] = stddev_acc;
        }
        {
            int j = tj + 32 * bj;  // correlation.c:49
            stddev[j] /= float_n;
            stddev[j] = sqrtf(stddev[j]);  // correlation.c:50
            stddev[j] = stddev[j] <= eps ? 1.0f : stddev[j];  // correlation.c:51
        }
    }
}

// correlation.c:56: data[i][j] -= mean[j];
// correlation.c:57: data[i][j] /= sqrtf(float_n) * stddev[j];
// classic (fused) schedule; blocks: bi = y, bj = x; 32 x 8 x 1 threads
extern "C" __global__ void __launch_bounds__(256) kernel_correlation_scop0_k2(int m, int n, const float *mean,
        float *__restrict__ data, float float_n, const float *stddev)
{
    const int bj = blockIdx.x;
    const int tj = threadIdx.x;
    const int ti = threadIdx.y;

    polytile_await_launches();
    for (int bi = blockIdx.y; bi <= (n - 1) / 8; bi += gridDim.y) {
        if (n >= ti + 8 * bi + 1 && m >= tj + 32 * bj + 1) {
            int i = ti + 8 * bi;  // correlation.c:56
            int j = tj + 32 * bj;
            data[(long long)i * m + j] -= mean[j];
            data[(long long)i * m + j] /= sqrtf(float_n) * stddev[j];  // correlation.c:57
        }
    }
}

// correlation.c:63: corr[i][j] = 0.0f;
// correlation.c:65: corr[i][j] += data[k][i] * data[k][j];
// correlation.c:66: corr[j][i] = corr[i][j];
// classic (fused) schedule; blocks: bi = y, bj = x; 32 x 8 x 1 threads
extern "C" __global__ void __launch_bounds__(256) kernel_correlation_scop0_k3(int m, int n, const float *data,
        float *__restrict__ corr)
{
    const int bj = gridDim.x - 1 - blockIdx.x;
    const int tj = threadIdx.x;
    const int ti = threadIdx.y;

    polytile_await_launches();
    for (int bi = gridDim.y - 1 - blockIdx.y; bi <= (m - 2) / 8; bi += gridDim.y) {
        if (tj + 32 * bj >= ti + 8 * bi + 1 && m >= tj + 32 * bj + 1) {
            {
                int i = ti + 8 * bi;  // correlation.c:63
                int j = tj + 32 * bj;
                corr[(long long)i * m + j] = 0.0f;
            }
            if (0 < n) {
                int i = ti + 8 * bi;  // correlation.c:65
                int j = tj + 32 * bj;
                float corr_acc = corr[(long long)i * m + j];
                for (int k = 0; k < n; ++k) {
                    corr_acc += data[(long long)k * m + i] * data[(long long)k * m + j];
                }
                corr[(long long)i * m + j] = corr_acc;
            }
            {
                int i = ti + 8 * bi;  // correlation.c:66
                int j = tj + 32 * bj;
                corr[(long long)j * m + i] = corr[(long long)i * m + j];
            }
        }
    }
}

// correlation.c:61: corr[i][i] = 1.0f;
// classic (fused) schedule; blocks: bi = x; 128 x 1 x 1 threads
extern "C" __global__ void __launch_bounds__(128) kernel_correlation_scop0_k4(int m, float *__restrict__ corr)
{
    const int bi = blockIdx.x;
    const int ti = threadIdx.x;

    polytile_await_launches();
    {
        int i = ti + 128 * bi;  // correlation.c:61
        if (m >= i + 2) {
            corr[(long long)i * m + i] = 1.0f;
        }
    }
}

// correlation.c:69: corr[m - 1][m - 1] = 1.0f;
// classic (fused) schedule; blocks: one block; 1 x 1 x 1 threads
extern "C" __global__ void __launch_bounds__(1) kernel_correlation_scop0_k5(int m, float *__restrict__ corr)
{
    polytile_await_launches();
    corr[(long long)(m - 1) * m + m - 1] = 1.0f;  // correlation.c:69
}
