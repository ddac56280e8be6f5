// gemm.c:46: C[i][j] *= beta;
// gemm.c:49: C[i][j] += alpha * A[i][k] * B[k][j];
// superposed schedule; blocks: bi = y, bj = x; 32 x 8 x 1 threads
extern "C" __global__ void __launch_bounds__(256, 2) kernel_gemm_scop0_k0(int ni, int nj, int nk,
        double *__restrict__ C, double beta, double alpha, const double *__restrict__ A,
        const double *__restrict__ B)
{
    const int bj = blockIdx.x;
    const int tj = threadIdx.x;
    const int ti = threadIdx.y;

    for (int bi = blockIdx.y; bi <= (ni - 1) / 32; bi += gridDim.y) {
        if (ni >= 4 * ti + 32 * bi + 1 && nj >= 2 * tj + 64 * bj + 1) {
            if ((ni >= 4 * ti + 32 * bi + 4) & (nj >= 2 * tj + 64 * bj + 2) &
                    polytile_aligned<16>(&C[(long long)(4 * ti + 32 * bi) * nj + 2 * tj + 64 * bj],
                    &C[(long long)(4 * ti + 32 * bi + 1) * nj + 2 * tj + 64 * bj],
                    &C[(long long)(4 * ti + 32 * bi + 2) * nj + 2 * tj + 64 * bj],
                    &C[(long long)(4 * ti + 32 * bi + 3) * nj + 2 * tj + 64 * bj])) {
                double C_at0;
                double C1_at0;
                double C2_at0;
                double C3_at0;
                double C4_at0;
                double C5_at0;
                double C6_at0;
                double C7_at0;
                const double2 v0 = *(const double2 *)&C[(long long)(4 * ti + 32 * bi) * nj + 2 * tj + 64 * bj];
                C_at0 = v0.x; C4_at0 = v0.y;  // gemm.c:46
                const double2 v1 = *(const double2 *)&C[(long long)(4 * ti + 32 * bi + 1) * nj + 2 * tj + 64 * bj];
                C1_at0 = v1.x; C5_at0 = v1.y;
                const double2 v2 = *(const double2 *)&C[(long long)(4 * ti + 32 * bi + 2) * nj + 2 * tj + 64 * bj];
                C2_at0 = v2.x; C6_at0 = v2.y;
                const double2 v3 = *(const double2 *)&C[(long long)(4 * ti + 32 * bi + 3) * nj + 2 * tj + 64 * bj];
                C3_at0 = v3.x; C7_at0 = v3.y;
                C_at0 *= beta;
                C1_at0 *= beta;
                C2_at0 *= beta;
                C3_at0 *= beta;
                C4_at0 *= beta;
                C5_at0 *= beta;
                C6_at0 *= beta;
                C7_at0 *= beta;
                *(double2 *)&C[(long long)(4 * ti + 32 * bi) * nj + 2 * tj + 64 * bj] = make_double2(C_at0, C4_at0);
                *(double2 *)&C[(long long)(4 * ti + 32 * bi + 1) * nj + 2 * tj + 64 * bj] = make_double2(C1_at0, C5_at0);
                *(double2 *)&C[(long long)(4 * ti + 32 * bi + 2) * nj + 2 * tj + 64 * bj] = make_double2(C2_at0, C6_at0);
                *(double2 *)&C[(long long)(4 * ti + 32 * bi + 3) * nj + 2 * tj + 64 * bj] = make_double2(C3_at0, C7_at0);
            } else {
                {
                    int i = 4 * ti + 32 * bi;  // gemm.c:46
                    int j = 2 * tj + 64 * bj;
                    C[(long long)i * nj + j] *= beta;
                }
                if (ni >= 4 * ti + 32 * bi + 2) {
                    {
                        int i = 4 * ti + 32 * bi + 1;  // gemm.c:46
                        int j = 2 * tj + 64 * bj;
                        C[(long long)i * nj + j] *= beta;
                    }
                    if (ni >= 4 * ti + 32 * bi + 3) {
                        {
                            int i = 4 * ti + 32 * bi + 2;  // gemm.c:46
                            int j = 2 * tj + 64 * bj;
                            C[(long long)i * nj + j] *= beta;
                        }
                        if (ni >= 4 * ti + 32 * bi + 4) {
                            int i = 4 * ti + 32 * bi + 3;  // gemm.c:46
                            int j = 2 * tj + 64 * bj;
                            C[(long long)i * nj + j] *= beta;
                        }
                    }
                }
                if (nj >= 2 * tj + 64 * bj + 2) {
                    {
                        int i = 4 * ti + 32 * bi;  // gemm.c:46
                        int j = 2 * tj + 64 * bj + 1;
                        C[(long long)i * nj + j] *= beta;
                    }
                    if (ni >= 4 * ti + 32 * bi + 2) {
                        {
                            int i = 4 * ti + 32 * bi + 1;  // gemm.c:46
                            int j = 2 * tj + 64 * bj + 1;
                            C[(long long)i * nj + j] *= beta;
                        }
                        if (ni >= 4 * ti + 32 * bi + 3) {
                            {
                                int i = 4 * ti + 32 * bi + 2;  // gemm.c:46
                                int j = 2 * tj + 64 * bj + 1;
                                C[(long long)i * nj + j] *= beta;
                            }
                            if (ni >= 4 * ti + 32 * bi + 4) {
                                int i = 4 * ti + 32 * bi + 3;  // gemm.c:46
                                int j = 2 * tj + 64 * bj + 1;
                                C[(long long)i * nj + j] *= beta;
                            }
                        }
                    }
                }
            }
            if (0 < nk) {
                double C_acc = 0.0;  // gemm.c:49
                double C_acc1 = 0.0;
                double C_acc2 = 0.0;
                double C_acc3 = 0.0;
                double C_acc4 = 0.0;
                double C_acc5 = 0.0;
                double C_acc6 = 0.0;
                double C_acc7 = 0.0;
                if ((ni >= 4 * ti + 32 * bi + 4) & (nj >= 2 * tj + 64 * bj + 2) &
                        polytile_aligned<16>(&C[(long long)(4 * ti + 32 * bi) * nj + 2 * tj + 64 * bj],
                        &C[(long long)(4 * ti + 32 * bi + 1) * nj + 2 * tj + 64 * bj],
                        &C[(long long)(4 * ti + 32 * bi + 2) * nj + 2 * tj + 64 * bj],
                        &C[(long long)(4 * ti + 32 * bi + 3) * nj + 2 * tj + 64 * bj])) {
                    double C_at0;
                    double C1_at0;
                    double C2_at0;
                    double C3_at0;
                    double C4_at0;
                    double C5_at0;
                    double C6_at0;
                    double C7_at0;
                    const double2 v4 = *(const double2 *)&C[(long long)(4 * ti + 32 * bi) * nj + 2 * tj + 64 * bj];
                    C_at0 = v4.x; C4_at0 = v4.y;
                    const double2 v5 = *(const double2 *)&C[(long long)(4 * ti + 32 * bi + 1) * nj + 2 * tj + 64 * bj];
                    C1_at0 = v5.x; C5_at0 = v5.y;
                    const double2 v6 = *(const double2 *)&C[(long long)(4 * ti + 32 * bi + 2) * nj + 2 * tj + 64 * bj];
                    C2_at0 = v6.x; C6_at0 = v6.y;
                    const double2 v7 = *(const double2 *)&C[(long long)(4 * ti + 32 * bi + 3) * nj + 2 * tj + 64 * bj];
                    C3_at0 = v7.x; C7_at0 = v7.y;
                    C_acc = C_at0;
                    C_acc1 = C1_at0;
                    C_acc2 = C2_at0;
                    C_acc3 = C3_at0;
                    C_acc4 = C4_at0;
                    C_acc5 = C5_at0;
                    C_acc6 = C6_at0;
                    C_acc7 = C7_at0;
                } else {
                    C_acc = C[(long long)(4 * ti + 32 * bi) * nj + 2 * tj + 64 * bj];
                    if (ni >= 4 * ti + 32 * bi + 2) {
                        C_acc1 = C[(long long)(4 * ti + 32 * bi + 1) * nj + 2 * tj + 64 * bj];
                        if (ni >= 4 * ti + 32 * bi + 3) {
                            C_acc2 = C[(long long)(4 * ti + 32 * bi + 2) * nj + 2 * tj + 64 * bj];
                            if (ni >= 4 * ti + 32 * bi + 4) {
                                C_acc3 = C[(long long)(4 * ti + 32 * bi + 3) * nj + 2 * tj + 64 * bj];
                            }
                        }
                    }
                    if (nj >= 2 * tj + 64 * bj + 2) {
                        C_acc4 = C[(long long)(4 * ti + 32 * bi) * nj + 2 * tj + 64 * bj + 1];
                        if (ni >= 4 * ti + 32 * bi + 2) {
                            C_acc5 = C[(long long)(4 * ti + 32 * bi + 1) * nj + 2 * tj + 64 * bj + 1];
                            if (ni >= 4 * ti + 32 * bi + 3) {
                                C_acc6 = C[(long long)(4 * ti + 32 * bi + 2) * nj + 2 * tj + 64 * bj + 1];
                                if (ni >= 4 * ti + 32 * bi + 4) {
                                    C_acc7 = C[(long long)(4 * ti + 32 * bi + 3) * nj + 2 * tj + 64 * bj + 1];
                                }
                            }
                        }
                    }
                }
                {
                    int k_last = nk - 1;
                    if ((ni >= 4 * ti + 32 * bi + 4) & (nj >= 2 * tj + 64 * bj + 2) &
                            polytile_aligned<16>(&B[2 * tj + 64 * bj], &B[(long long)1 * nj + 2 * tj + 64 * bj])) {
                        #pragma unroll 1
                        for (int k = 0; k < k_last - 6; k += 8) {
                            double A_at[8];
                            double B_at[8];
                            double A1_at[8];
                            double A2_at[8];
                            double A3_at[8];
                            double B1_at[8];
                            #pragma unroll
                            for (int u = 0; u < 8; ++u) {
                                A_at[u] = A[(long long)(4 * ti + 32 * bi) * nk + k + u];
                                A1_at[u] = A[(long long)(4 * ti + 32 * bi + 1) * nk + k + u];
                                A2_at[u] = A[(long long)(4 * ti + 32 * bi + 2) * nk + k + u];
                                A3_at[u] = A[(long long)(4 * ti + 32 * bi + 3) * nk + k + u];
                                const double2 v8 = *(const double2 *)&B[(long long)(k + u) * nj + 2 * tj + 64 * bj];
                                B_at[u] = v8.x; B1_at[u] = v8.y;
                            }
                            #pragma unroll
                            for (int u = 0; u < 8; ++u) {
                                C_acc += alpha * A_at[u] * B_at[u];
                                C_acc1 += alpha * A1_at[u] * B_at[u];
                                C_acc2 += alpha * A2_at[u] * B_at[u];
                                C_acc3 += alpha * A3_at[u] * B_at[u];
                                C_acc4 += alpha * A_at[u] * B1_at[u];
                                C_acc5 += alpha * A1_at[u] * B1_at[u];
                                C_acc6 += alpha * A2_at[u] * B1_at[u];
                                C_acc7 += alpha * A3_at[u] * B1_at[u];
                            }
                        }
                        #pragma unroll 1
                        for (int k_rest = (k_last + 1) / 8 * 8; k_rest <= k_last; k_rest += 4) {
                            double A_rest[4];
                            double B_rest[4];
                            double A1_rest[4];
                            double A2_rest[4];
                            double A3_rest[4];
                            double B1_rest[4];
                            #pragma unroll
                            for (int u = 0; u < 4; ++u) {
                                A_rest[u] = A[(long long)(4 * ti + 32 * bi) * nk + polytile_min(k_rest + u, k_last)];
                                A1_rest[u] = A[(long long)(4 * ti + 32 * bi + 1) * nk + polytile_min(k_rest + u, k_last)];
                                A2_rest[u] = A[(long long)(4 * ti + 32 * bi + 2) * nk + polytile_min(k_rest + u, k_last)];
                                A3_rest[u] = A[(long long)(4 * ti + 32 * bi + 3) * nk + polytile_min(k_rest + u, k_last)];
                                const double2 v9 = *(const double2 *)&B[(long long)polytile_min(k_rest + u, k_last) * nj + 2 * tj + 64 * bj];
                                B_rest[u] = v9.x; B1_rest[u] = v9.y;
                            }
                            #pragma unroll
                            for (int u = 0; u < 4; ++u) {
                                if (k_rest + u <= k_last) {
                                    C_acc += alpha * A_rest[u] * B_rest[u];
                                    C_acc1 += alpha * A1_rest[u] * B_rest[u];
                                    C_acc2 += alpha * A2_rest[u] * B_rest[u];
                                    C_acc3 += alpha * A3_rest[u] * B_rest[u];
                                    C_acc4 += alpha * A_rest[u] * B1_rest[u];
                                    C_acc5 += alpha * A1_rest[u] * B1_rest[u];
                                    C_acc6 += alpha * A2_rest[u] * B1_rest[u];
                                    C_acc7 += alpha * A3_rest[u] * B1_rest[u];
                                }
                            }
                        }
                    } else {
                        #pragma unroll 1
                        for (int k = 0; k < k_last - 6; k += 8) {
                            double A_at[8];
                            double B_at[8];
                            double A1_at[8];
                            double A2_at[8];
                            double A3_at[8];
                            double B1_at[8];
                            #pragma unroll
                            for (int u = 0; u < 8; ++u) {
                                A_at[u] = A[(long long)(4 * ti + 32 * bi) * nk + k + u];
                                B_at[u] = B[(long long)(k + u) * nj + 2 * tj + 64 * bj];
                                A1_at[u] = ni >= 4 * ti + 32 * bi + 2 ? A[(long long)(4 * ti + 32 * bi + 1) * nk + k + u] : 0.0;
                                A2_at[u] = ni >= 4 * ti + 32 * bi + 3 ? A[(long long)(4 * ti + 32 * bi + 2) * nk + k + u] : 0.0;
                                A3_at[u] = ni >= 4 * ti + 32 * bi + 4 ? A[(long long)(4 * ti + 32 * bi + 3) * nk + k + u] : 0.0;
                                B1_at[u] = nj >= 2 * tj + 64 * bj + 2 ? B[(long long)(k + u) * nj + 2 * tj + 64 * bj + 1] : 0.0;
                            }
                            #pragma unroll
                            for (int u = 0; u < 8; ++u) {
                                C_acc += alpha * A_at[u] * B_at[u];
                                C_acc1 += alpha * A1_at[u] * B_at[u];
                                C_acc2 += alpha * A2_at[u] * B_at[u];
                                C_acc3 += alpha * A3_at[u] * B_at[u];
                                C_acc4 += alpha * A_at[u] * B1_at[u];
                                C_acc5 += alpha * A1_at[u] * B1_at[u];
                                C_acc6 += alpha * A2_at[u] * B1_at[u];
                                C_acc7 += alpha * A3_at[u] * B1_at[u];
                            }
                        }
                        #pragma unroll 1
                        for (int k_rest = (k_last + 1) / 8 * 8; k_rest <= k_last; k_rest += 4) {
                            double A_rest[4];
                            double B_rest[4];
                            double A1_rest[4];
                            double A2_rest[4];
                            double A3_rest[4];
                            double B1_rest[4];
                            #pragma unroll
                            for (int u = 0; u < 4; ++u) {
                                A_rest[u] = A[(long long)(4 * ti + 32 * bi) * nk + polytile_min(k_rest + u, k_last)];
                                B_rest[u] = B[(long long)polytile_min(k_rest + u, k_last) * nj + 2 * tj + 64 * bj];
                                A1_rest[u] = ni >= 4 * ti + 32 * bi + 2 ? A[(long long)(4 * ti + 32 * bi + 1) * nk +
                                        polytile_min(k_rest + u, k_last)] : 0.0;
                                A2_rest[u] = ni >= 4 * ti + 32 * bi + 3 ? A[(long long)(4 * ti + 32 * bi + 2) * nk +
                                        polytile_min(k_rest + u, k_last)] : 0.0;
                                A3_rest[u] = ni >= 4 * ti + 32 * bi + 4 ? A[(long long)(4 * ti + 32 * bi + 3) * nk +
                                        polytile_min(k_rest + u, k_last)] : 0.0;
                                B1_rest[u] = nj >= 2 * tj + 64 * bj + 2 ? B[(long long)polytile_min(k_rest + u, k_last) * nj + 2 * tj +
                                        64 * bj + 1] : 0.0;
                            }
                            #pragma unroll
                            for (int u = 0; u < 4; ++u) {
                                if (k_rest + u <= k_last) {
                                    C_acc += alpha * A_rest[u] * B_rest[u];
                                    C_acc1 += alpha * A1_rest[u] * B_rest[u];
                                    C_acc2 += alpha * A2_rest[u] * B_rest[u];
                                    C_acc3 += alpha * A3_rest[u] * B_rest[u];
                                    C_acc4 += alpha * A_rest[u] * B1_rest[u];
                                    C_acc5 += alpha * A1_rest[u] * B1_rest[u];
                                    C_acc6 += alpha * A2_rest[u] * B1_rest[u];
                                    C_acc7 += alpha * A3_rest[u] * B1_rest[u];
                                }
                            }
                        }
                    }
                }
                if ((ni >= 4 * ti + 32 * bi + 4) & (nj >= 2 * tj + 64 * bj + 2) &
                        polytile_aligned<16>(&C[(long long)(4 * ti + 32 * bi) * nj + 2 * tj + 64 * bj],
                        &C[(long long)(4 * ti + 32 * bi + 1) * nj + 2 * tj + 64 * bj],
                        &C[(long long)(4 * ti + 32 * bi + 2) * nj + 2 * tj + 64 * bj],
                        &C[(long long)(4 * ti + 32 * bi + 3) * nj + 2 * tj + 64 * bj])) {
                    double C_at0;
                    double C1_at0;
                    double C2_at0;
                    double C3_at0;
                    double C4_at0;
                    double C5_at0;
                    double C6_at0;
                    double C7_at0;
                    C_at0 = C_acc;
                    C1_at0 = C_acc1;
                    C2_at0 = C_acc2;
                    C3_at0 = C_acc3;
                    C4_at0 = C_acc4;
                    C5_at0 = C_acc5;
                    C6_at0 = C_acc6;
                    C7_at0 = C_acc7;
                    *(double2 *)&C[(long long)(4 * ti + 32 * bi) * nj + 2 * tj + 64 * bj] = make_double2(C_at0, C4_at0);
                    *(double2 *)&C[(long long)(4 * ti + 32 * bi + 1) * nj + 2 * tj + 64 * bj] = make_double2(C1_at0, C5_at0);
                    *(double2 *)&C[(long long)(4 * ti + 32 * bi + 2) * nj + 2 * tj + 64 * bj] = make_double2(C2_at0, C6_at0);
                    *(double2 *)&C[(long long)(4 * ti + 32 * bi + 3) * nj + 2 * tj + 64 * bj] = make_double2(C3_at0, C7_at0);
                } else {
                    C[(long long)(4 * ti + 32 * bi) * nj + 2 * tj + 64 * bj] = C_acc;
                    if (ni >= 4 * ti + 32 * bi + 2) {
                        C[(long long)(4 * ti + 32 * bi + 1) * nj + 2 * tj + 64 * bj] = C_acc1;
                        if (ni >= 4 * ti + 32 * bi + 3) {
                            C[(long long)(4 * ti + 32 * bi + 2) * nj + 2 * tj + 64 * bj] = C_acc2;
                            if (ni >= 4 * ti + 32 * bi + 4) {
                                C[(long long)(4 * ti + 32 * bi + 3) * nj + 2 * tj + 64 * bj] = C_acc3;
                            }
                        }
                    }
                    if (nj >= 2 * tj + 64 * bj + 2) {
                        C[(long long)(4 * ti + 32 * bi) * nj + 2 * tj + 64 * bj + 1] = C_acc4;
                        if (ni >= 4 * ti + 32 * bi + 2) {
                            C[(long long)(4 * ti + 32 * bi + 1) * nj + 2 * tj + 64 * bj + 1] = C_acc5;
                            if (ni >= 4 * ti + 32 * bi + 3) {
                                C[(long long)(4 * ti + 32 * bi + 2) * nj + 2 * tj + 64 * bj + 1] = C_acc6;
                                if (ni >= 4 * ti + 32 * bi + 4) {
                                    C[(long long)(4 * ti + 32 * bi + 3) * nj + 2 * tj + 64 * bj + 1] = C_acc7;
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
