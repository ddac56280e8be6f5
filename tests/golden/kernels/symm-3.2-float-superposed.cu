// symm-3.2.c:32: acc = 0;
// symm-3.2.c:34: C[k][j] += alpha * A[k][i] * B[i][j];
// symm-3.2.c:35: partial results of acc: over all lanes
// symm-3.2.c:35: partial results of acc: over all lanes, each thread
// symm-3.2.c:35: partial results of acc: before the first
// symm-3.2.c:35: acc += B[k][j] * A[k][i];
// symm-3.2.c:37: C[i][j] = beta * C[i][j] + alpha * A[i][i] * B[i][j] + alpha * acc;
// superposed schedule; blocks: bj = x; 32 x 8 x 1 threads
extern "C" __global__ void __launch_bounds__(256) kernel_symm_scop0_k0(int n, float *__restrict__ C,
        float alpha, const float *__restrict__ A, const float *__restrict__ B, float beta,
        float *__restrict__ acc_part_all)
{
    const int bj = blockIdx.x;
    const int tj = threadIdx.x;
    const int t0 = threadIdx.y;
    float acc;
    float acc_part;

    for (int i = 0; i < n; ++i) {
        {
            int j = tj + 32 * bj;  // symm-3.2.c:32
            if (t0 == 0 && n >= j + 1) {
                acc = 0;
            }
        }
        {
            int j = tj + 32 * bj;  // symm-3.2.c:35
            if (j >= 2 && n >= j + 1) {
                acc_part = 0.0f;
            }
        }
        if (n >= tj + 32 * bj + 1) {
            for (int c_4 = 0; c_4 <= 4 * bj + polytile_floord(tj - t0 - 2, 8); ++c_4) {
                int j = tj + 32 * bj;  // symm-3.2.c:34
                int k = t0 + 8 * c_4;
                C[(long long)k * n + j] += alpha * A[(long long)k * n + i] * B[(long long)i * n + j];
                acc_part += B[(long long)k * n + j] * A[(long long)k * n + i];  // symm-3.2.c:35
            }
            {
                int j = tj + 32 * bj;  // symm-3.2.c:35
                int lane = t0;
                if (j >= 2) {
                    acc_part_all[(((long long)i * ((n - 1) / 32 + 1) + j / 32) * 32 + j % 32) * 9 + lane] = acc_part;
                }
            }
        }
        if (n >= 3) {
            __syncthreads();  // symm-3.2.c:35 depends on symm-3.2.c:35 through acc_part_all
            {
                int j = tj + 32 * bj;  // symm-3.2.c:35
                float acc_sum = 0.0f;
                if (t0 == 0 && j >= 2 && n >= j + 1) {
                    for (int k_lane = 0; k_lane < 8; ++k_lane) {
                        acc_sum = acc_sum + acc_part_all[(((long long)i * ((n - 1) / 32 + 1) + j / 32) * 32 + j % 32) * 9 + k_lane];
                    }
                    acc += acc_sum;
                }
            }
        }
        __syncthreads();  // symm-3.2.c:37 depends on symm-3.2.c:34 through C
        {
            int j = tj + 32 * bj;  // symm-3.2.c:37
            if (t0 == 0 && n >= j + 1) {
                C[(long long)i * n + j] = beta * C[(long long)i * n + j] +
                        alpha * A[(long long)i * n + i] * B[(long long)i * n + j] + alpha * acc;
            }
        }
        __syncthreads();  // symm-3.2.c:34 depends on symm-3.2.c:37 through C
    }
}
