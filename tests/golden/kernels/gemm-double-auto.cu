// gemm.c:46: C[i][j] *= beta;
// gemm.c:49: C[i][j] += alpha * A[i][k] * B[k][j];
// tiled (loop tree) schedule; blocks: bi = y, bj = x; 16 x 8 x 1 threads
extern "C" __global__ void __launch_bounds__(128, 3) kernel_gemm_scop0_k0(int ni, int nj, int nk,
        double *__restrict__ C, double beta, double alpha, const double *__restrict__ A,
        const double *__restrict__ B)
{
    const int bj = blockIdx.x;
    const int tj = threadIdx.x;
    const int ti = threadIdx.y;
    __shared__ double A_tile[64][16];
    __shared__ double B_tile[16][96];
    double C_acc[8][6];

    for (int bi = blockIdx.y; bi <= (ni - 1) / 64; bi += gridDim.y) {
        // C_acc from C
        if (64 * bi + 64 <= ni && 96 * bj + 96 <= nj) {
            #pragma unroll
            for (int C_acc_0 = 0; C_acc_0 < 8; ++C_acc_0) {
                #pragma unroll
                for (int C_acc_1 = 0; C_acc_1 < 6; ++C_acc_1) {
                    C_acc[C_acc_0][C_acc_1] = C[(long long)(8 * C_acc_0 + ti + 64 * bi) * nj + 16 * C_acc_1 + tj + 96 * bj];
                }
            }
            #pragma unroll
            for (int points = 0; points < 8; ++points) {
                #pragma unroll
                for (int points_1 = 0; points_1 < 6; ++points_1) {
                    C_acc[points][points_1] *= beta;  // gemm.c:46
                }
            }
        } else {
            #pragma unroll
            for (int C_acc_0 = 0; C_acc_0 < 8; ++C_acc_0) {
                #pragma unroll
                for (int C_acc_1 = 0; C_acc_1 < 6; ++C_acc_1) {
                    C_acc[C_acc_0][C_acc_1] = ni >= 8 * C_acc_0 + ti + 64 * bi + 1 && nj >= 16 * C_acc_1 + tj + 96 * bj + 1 ?
                            C[(long long)(8 * C_acc_0 + ti + 64 * bi) * nj + 16 * C_acc_1 + tj + 96 * bj] : 0.0;
                }
            }
            #pragma unroll
            for (int points = 0; points < 8; ++points) {
                #pragma unroll
                for (int points_1 = 0; points_1 < 6; ++points_1) {
                    C_acc[points][points_1] *= beta;  // gemm.c:46
                }
            }
        }
        for (int k0 = 0; k0 <= polytile_floord(nk - 1, 16); ++k0) {
            // A_tile from A
            if (64 * bi + 64 <= ni && 16 * k0 + 16 <= nk) {
                #pragma unroll
                for (int A_tile_0 = 0; A_tile_0 < 64; A_tile_0 += 8) {
                    A_tile[A_tile_0 + ti][tj] = A[(long long)(A_tile_0 + ti + 64 * bi) * nk + tj + 16 * k0];
                }
            } else {
                #pragma unroll
                for (int A_tile_0 = 0; A_tile_0 < 64; A_tile_0 += 8) {
                    A_tile[A_tile_0 + ti][tj] = ni >= A_tile_0 + ti + 64 * bi + 1 && nk >= tj + 16 * k0 + 1 ?
                            A[(long long)(A_tile_0 + ti + 64 * bi) * nk + tj + 16 * k0] : 0.0;
                }
            }
            // B_tile from B
            int B_tile_low = ti % 2;
            int B_tile_high = ti / 2;
            if (96 * bj + 96 <= nj && 16 * k0 + 16 <= nk) {
                #pragma unroll
                for (int B_tile_0 = 0; B_tile_0 < 16; B_tile_0 += 4) {
                    #pragma unroll
                    for (int B_tile_1 = 0; B_tile_1 < 96; B_tile_1 += 32) {
                        B_tile[B_tile_0 + B_tile_high][B_tile_1 + (tj + B_tile_low * 16)] =
                                B[(long long)(B_tile_0 + B_tile_high + 16 * k0) * nj + B_tile_1 + (tj + B_tile_low * 16) + 96 * bj];
                    }
                }
            } else {
                #pragma unroll
                for (int B_tile_0 = 0; B_tile_0 < 16; B_tile_0 += 4) {
                    #pragma unroll
                    for (int B_tile_1 = 0; B_tile_1 < 96; B_tile_1 += 32) {
                        B_tile[B_tile_0 + B_tile_high][B_tile_1 + (tj + B_tile_low * 16)] = nj >= B_tile_1 + (tj + B_tile_low * 16) +
                                96 * bj + 1 && nk >= B_tile_0 + B_tile_high + 16 * k0 + 1 ?
                                B[(long long)(B_tile_0 + B_tile_high + 16 * k0) * nj + B_tile_1 + (tj + B_tile_low * 16) + 96 * bj] :
                                0.0;
                    }
                }
            }
            __syncthreads();  // A_tile and B_tile must be filled before threads read each other's part
            if (16 * k0 + 16 <= nk) {
                #pragma unroll 4
                for (int kk = 0; kk < 16; ++kk) {
                    #pragma unroll
                    for (int points_2 = 0; points_2 < 8; ++points_2) {
                        #pragma unroll
                        for (int points_2_1 = 0; points_2_1 < 6; ++points_2_1) {
                            C_acc[points_2][points_2_1] += alpha * A_tile[ti + 8 * points_2][kk] * B_tile[kk][tj + 16 * points_2_1];  // gemm.c:49
                        }
                    }
                }
            } else {
                #pragma unroll 1
                for (int kk = 0; kk < 16; ++kk) {
                    #pragma unroll
                    for (int points_2 = 0; points_2 < 8; ++points_2) {
                        #pragma unroll
                        for (int points_2_1 = 0; points_2_1 < 6; ++points_2_1) {
                            if (nk >= 16 * k0 + kk + 1) {
                                C_acc[points_2][points_2_1] += alpha * A_tile[ti + 8 * points_2][kk] * B_tile[kk][tj + 16 * points_2_1];  // gemm.c:49
                            }
                        }
                    }
                }
            }
            __syncthreads();  // all are done with A_tile and B_tile before the next iteration
        }
        // C_acc back to C
        if (64 * bi + 64 <= ni && 96 * bj + 96 <= nj) {
            #pragma unroll
            for (int C_acc_0_2 = 0; C_acc_0_2 < 8; ++C_acc_0_2) {
                #pragma unroll
                for (int C_acc_1_2 = 0; C_acc_1_2 < 6; ++C_acc_1_2) {
                    C[(long long)(8 * C_acc_0_2 + ti + 64 * bi) * nj + 16 * C_acc_1_2 + tj + 96 * bj] =
                            C_acc[C_acc_0_2][C_acc_1_2];
                }
            }
        } else {
            #pragma unroll
            for (int C_acc_0_2 = 0; C_acc_0_2 < 8; ++C_acc_0_2) {
                #pragma unroll
                for (int C_acc_1_2 = 0; C_acc_1_2 < 6; ++C_acc_1_2) {
                    if (ni >= 8 * C_acc_0_2 + ti + 64 * bi + 1 && nj >= 16 * C_acc_1_2 + tj + 96 * bj + 1) {
                        C[(long long)(8 * C_acc_0_2 + ti + 64 * bi) * nj + 16 * C_acc_1_2 + tj + 96 * bj] =
                                C_acc[C_acc_0_2][C_acc_1_2];
                    }
                }
            }
        }
        __syncthreads();  // the block's next tile may touch what this one used
    }
}
