// doitgen.c:51: sum[p] = 0.0;
// doitgen.c:53: sum[p] += A[r][q][s] * C4[s][p];
// doitgen.c:56: A[r][q][p] = sum[p];
// superposed schedule; blocks: br = y, bq = x; 32 x 4 x 2 threads
extern "C" __global__ void __launch_bounds__(256, 2) main_scop0_k0(int nr, int nq, int np,
        double *__restrict__ A, const double *__restrict__ C4, double *__restrict__ sum_x)
{
    const int bq = blockIdx.x;
    const int tp = threadIdx.x;
    const int tq = threadIdx.y;
    const int tr = threadIdx.z;

    polytile_await_launches();
    for (int br = blockIdx.y; br < (nr + 1) / 2; br += gridDim.y) {
        if (nr >= tr + 2 * br + 1 && nq >= 4 * tq + 16 * bq + 1) {
            for (int p = tp; p < np; p += 32) {
                {
                    int r = tr + 2 * br;  // doitgen.c:51
                    int q = 4 * tq + 16 * bq;
                    sum_x[((long long)r * nq + q) * np + p] = 0.0;
                }
                if (nq >= 4 * tq + 16 * bq + 2) {
                    {
                        int r = tr + 2 * br;  // doitgen.c:51
                        int q = 4 * tq + 16 * bq + 1;
                        sum_x[((long long)r * nq + q) * np + p] = 0.0;
                    }
                    if (nq >= 4 * tq + 16 * bq + 3) {
                        {
                            int r = tr + 2 * br;  // doitgen.c:51
                            int q = 4 * tq + 16 * bq + 2;
                            sum_x[((long long)r * nq + q) * np + p] = 0.0;
                        }
                        if (nq >= 4 * tq + 16 * bq + 4) {
                            int r = tr + 2 * br;  // doitgen.c:51
                            int q = 4 * tq + 16 * bq + 3;
                            sum_x[((long long)r * nq + q) * np + p] = 0.0;
                        }
                    }
                }
                if (0 < np) {
                    double sum_x_acc = 0.0;  // doitgen.c:53
                    double sum_x_acc1 = 0.0;
                    double sum_x_acc2 = 0.0;
                    double sum_x_acc3 = 0.0;
                    sum_x_acc = sum_x[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq) * np + p];
                    if (nq >= 4 * tq + 16 * bq + 2) {
                        sum_x_acc1 = sum_x[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq + 1) * np + p];
                        if (nq >= 4 * tq + 16 * bq + 3) {
                            sum_x_acc2 = sum_x[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq + 2) * np + p];
                            if (nq >= 4 * tq + 16 * bq + 4) {
                                sum_x_acc3 = sum_x[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq + 3) * np + p];
                            }
                        }
                    }
                    {
                        int s_last = np - 1;
                        if (nq >= 4 * tq + 16 * bq + 4) {
                            #pragma unroll 1
                            for (int s = 0; s < s_last - 6; s += 8) {
                                double A_at[8];
                                double C4_at[8];
                                double A1_at[8];
                                double A2_at[8];
                                double A3_at[8];
                                #pragma unroll
                                for (int u = 0; u < 8; ++u) {
                                    A_at[u] = A[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq) * np + s + u];
                                    C4_at[u] = C4[(long long)(s + u) * np + p];
                                    A1_at[u] = A[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq + 1) * np + s + u];
                                    A2_at[u] = A[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq + 2) * np + s + u];
                                    A3_at[u] = A[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq + 3) * np + s + u];
                                }
                                #pragma unroll
                                for (int u = 0; u < 8; ++u) {
                                    sum_x_acc += A_at[u] * C4_at[u];
                                    sum_x_acc1 += A1_at[u] * C4_at[u];
                                    sum_x_acc2 += A2_at[u] * C4_at[u];
                                    sum_x_acc3 += A3_at[u] * C4_at[u];
                                }
                            }
                            #pragma unroll 1
                            for (int s_rest = (s_last + 1) / 8 * 8; s_rest <= s_last; s_rest += 4) {
                                double A_rest[4];
                                double C4_rest[4];
                                double A1_rest[4];
                                double A2_rest[4];
                                double A3_rest[4];
                                #pragma unroll
                                for (int u = 0; u < 4; ++u) {
                                    A_rest[u] = A[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq) * np + polytile_min(s_rest + u, s_last)];
                                    C4_rest[u] = C4[(long long)polytile_min(s_rest + u, s_last) * np + p];
                                    A1_rest[u] = A[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq + 1) * np +
                                            polytile_min(s_rest + u, s_last)];
                                    A2_rest[u] = A[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq + 2) * np +
                                            polytile_min(s_rest + u, s_last)];
                                    A3_rest[u] = A[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq + 3) * np +
                                            polytile_min(s_rest + u, s_last)];
                                }
                                #pragma unroll
                                for (int u = 0; u < 4; ++u) {
                                    if (s_rest + u <= s_last) {
                                        sum_x_acc += A_rest[u] * C4_rest[u];
                                        sum_x_acc1 += A1_rest[u] * C4_rest[u];
                                        sum_x_acc2 += A2_rest[u] * C4_rest[u];
                                        sum_x_acc3 += A3_rest[u] * C4_rest[u];
                                    }
                                }
                            }
                        } else {
                            #pragma unroll 1
                            for (int s = 0; s < s_last - 6; s += 8) {
                                double A_at[8];
                                double C4_at[8];
                                double A1_at[8];
                                double A2_at[8];
                                double A3_at[8];
                                #pragma unroll
                                for (int u = 0; u < 8; ++u) {
                                    A_at[u] = A[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq) * np + s + u];
                                    C4_at[u] = C4[(long long)(s + u) * np + p];
                                    A1_at[u] = nq >= 4 * tq + 16 * bq + 2 ? A[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq + 1) * np + s +
                                            u] : 0.0;
                                    A2_at[u] = nq >= 4 * tq + 16 * bq + 3 ? A[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq + 2) * np + s +
                                            u] : 0.0;
                                    A3_at[u] = nq >= 4 * tq + 16 * bq + 4 ? A[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq + 3) * np + s +
                                            u] : 0.0;
                                }
                                #pragma unroll
                                for (int u = 0; u < 8; ++u) {
                                    sum_x_acc += A_at[u] * C4_at[u];
                                    sum_x_acc1 += A1_at[u] * C4_at[u];
                                    sum_x_acc2 += A2_at[u] * C4_at[u];
                                    sum_x_acc3 += A3_at[u] * C4_at[u];
                                }
                            }
                            #pragma unroll 1
                            for (int s_rest = (s_last + 1) / 8 * 8; s_rest <= s_last; s_rest += 4) {
                                double A_rest[4];
                                double C4_rest[4];
                                double A1_rest[4];
                                double A2_rest[4];
                                double A3_rest[4];
                                #pragma unroll
                                for (int u = 0; u < 4; ++u) {
                                    A_rest[u] = A[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq) * np + polytile_min(s_rest + u, s_last)];
                                    C4_rest[u] = C4[(long long)polytile_min(s_rest + u, s_last) * np + p];
                                    A1_rest[u] = nq >= 4 * tq + 16 * bq + 2 ? A[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq + 1) * np +
                                            polytile_min(s_rest + u, s_last)] : 0.0;
                                    A2_rest[u] = nq >= 4 * tq + 16 * bq + 3 ? A[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq + 2) * np +
                                            polytile_min(s_rest + u, s_last)] : 0.0;
                                    A3_rest[u] = nq >= 4 * tq + 16 * bq + 4 ? A[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq + 3) * np +
                                            polytile_min(s_rest + u, s_last)] : 0.0;
                                }
                                #pragma unroll
                                for (int u = 0; u < 4; ++u) {
                                    if (s_rest + u <= s_last) {
                                        sum_x_acc += A_rest[u] * C4_rest[u];
                                        sum_x_acc1 += A1_rest[u] * C4_rest[u];
                                        sum_x_acc2 += A2_rest[u] * C4_rest[u];
                                        sum_x_acc3 += A3_rest[u] * C4_rest[u];
                                    }
                                }
                            }
                        }
                    }
                    sum_x[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq) * np + p] = sum_x_acc;
                    if (nq >= 4 * tq + 16 * bq + 2) {
                        sum_x[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq + 1) * np + p] = sum_x_acc1;
                        if (nq >= 4 * tq + 16 * bq + 3) {
                            sum_x[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq + 2) * np + p] = sum_x_acc2;
                            if (nq >= 4 * tq + 16 * bq + 4) {
                                sum_x[((long long)(tr + 2 * br) * nq + 4 * tq + 16 * bq + 3) * np + p] = sum_x_acc3;
                            }
                        }
                    }
                }
            }
        }
        __syncthreads();  // doitgen.c:56 depends on doitgen.c:53 through A and sum_x
        if (nr >= tr + 2 * br + 1 && nq >= 4 * tq + 16 * bq + 1) {
            for (int p = tp; p < np; p += 32) {
                {
                    int r = tr + 2 * br;  // doitgen.c:56
                    int q = 4 * tq + 16 * bq;
                    A[((long long)r * nq + q) * np + p] = sum_x[((long long)r * nq + q) * np + p];
                }
                if (nq >= 4 * tq + 16 * bq + 2) {
                    {
                        int r = tr + 2 * br;  // doitgen.c:56
                        int q = 4 * tq + 16 * bq + 1;
                        A[((long long)r * nq + q) * np + p] = sum_x[((long long)r * nq + q) * np + p];
                    }
                    if (nq >= 4 * tq + 16 * bq + 3) {
                        {
                            int r = tr + 2 * br;  // doitgen.c:56
                            int q = 4 * tq + 16 * bq + 2;
                            A[((long long)r * nq + q) * np + p] = sum_x[((long long)r * nq + q) * np + p];
                        }
                        if (nq >= 4 * tq + 16 * bq + 4) {
                            int r = tr + 2 * br;  // doitgen.c:56
                            int q = 4 * tq + 16 * bq + 3;
                            A[((long long)r * nq + q) * np + p] = sum_x[((long long)r * nq + q) * np + p];
                        }
                    }
                }
            }
        }
        __syncthreads();  // the block's next tile may touch what this one used
    }
}

// doitgen.c:51: the last values of sum
// superposed schedule; blocks: be0 = x; 128 x 1 x 1 threads
extern "C" __global__ void __launch_bounds__(128) main_scop0_k1(int nr, int nq, int np,
        double *__restrict__ sum, const double *sum_x)
{
    const int be0 = gridDim.x - 1 - blockIdx.x;
    const int te0 = threadIdx.x;

    polytile_await_launches();
    {
        int e0 = te0 + 128 * be0;  // doitgen.c:51
        if (np >= e0 + 1) {
            sum[e0] = sum_x[((long long)(nr - 1) * nq + nq - 1) * np + e0];
        }
    }
}
