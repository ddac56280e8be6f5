// jacobi-2d.c:22: B[i * n + j] = 0.2f * (A[i * n + j] + A[i * n + j - 1] + A[i * n + j + 1] + A[(i + 1) * n + j]
//     + A[(i - 1) * n + j]);
// jacobi-2d.c:27: A[i * n + j] = 0.2f * (B[i * n + j] + B[i * n + j - 1] + B[i * n + j + 1] + B[(i + 1) * n + j]
//     + B[(i - 1) * n + j]);
// split schedule; blocks: bi = y, bj = x; 32 x 8 x 1 threads
extern "C" __global__ void __launch_bounds__(256, 5) jacobi_2d_scop0_k0(int tsteps, int n, int c0,
        float *__restrict__ B, float *__restrict__ A)
{
    const int bj = blockIdx.x;
    const int tj = threadIdx.x;
    const int ti = threadIdx.y;
    __shared__ float B_tile[64][64];
    __shared__ float A_tile[66][66];

    polytile_await_launches();
    for (int bi = blockIdx.y; bi <= (n - 2) / 90; bi += gridDim.y) {
        // B_tile from B
        int B_tile_low = ti % 2;
        int B_tile_high = ti / 2;
        #pragma unroll
        for (int B_tile_0 = 0; B_tile_0 < 64; B_tile_0 += 4) {
            B_tile[B_tile_0 + B_tile_high][tj + B_tile_low * 32] = (tj + B_tile_low * 32 >= 1 && tj + B_tile_low * 32 <=
                    62 && B_tile_0 + B_tile_high >= 2 && B_tile_0 + B_tile_high + 90 * bi + 1 == n && n >= tj +
                    B_tile_low * 32 + 90 * bj + 2) || (tj + B_tile_low * 32 >= 2 && B_tile_0 + B_tile_high >= 1 &&
                    B_tile_0 + B_tile_high <= 62 && n >= B_tile_0 + B_tile_high + 90 * bi + 2 && tj + B_tile_low * 32 +
                    90 * bj + 1 == n) || (tj + B_tile_low * 32 == 0 && B_tile_0 + B_tile_high >= 1 && B_tile_0 +
                    B_tile_high <= 62 && n >= B_tile_0 + B_tile_high + 90 * bi + 2 && bj == 0) ||
                    (tj + B_tile_low * 32 >= 1 && tj + B_tile_low * 32 <= 62 && B_tile_0 + B_tile_high == 0 && bi == 0 &&
                    n >= tj + B_tile_low * 32 + 90 * bj + 2) ? B[(long long)(B_tile_0 + B_tile_high + 90 * bi) * n + tj +
                    B_tile_low * 32 + 90 * bj] : 0.0f;
        }
        // A_tile from A
        #pragma unroll
        for (int A_tile_1 = 0; A_tile_1 < 4356; A_tile_1 += 256) {
            int A_tile_low = A_tile_1 + (tj + ti * 32);
            if (A_tile_low < 4356) {
                int A_tile_high = A_tile_low % 66;
                int A_tile_low_2 = A_tile_low / 66;
                A_tile[A_tile_low_2][A_tile_high] = (A_tile_high <= 64 && A_tile_high + A_tile_low_2 >= 1 && A_tile_low_2 <=
                        64 && A_tile_high + A_tile_low_2 + 90 * bi >= 2 && n >= A_tile_low_2 + 90 * bi + 1 && A_tile_low_2 +
                        90 * bi >= 1 && A_tile_high + A_tile_low_2 + 90 * bi + 90 * bj >= 3 && A_tile_high + A_tile_low_2 +
                        90 * bj >= 2 && n >= A_tile_high + 90 * bj + 1 && A_tile_high + 90 * bj >= 1) ||
                        (A_tile_high >= 1 && A_tile_high + A_tile_low_2 >= 3 && A_tile_low_2 >= 1 && A_tile_high +
                        A_tile_low_2 <= 129 && A_tile_high + A_tile_low_2 + 90 * bi >= 4 && A_tile_low_2 + 90 * bi >= 2 &&
                        n >= A_tile_low_2 + 90 * bi && n + 64 >= A_tile_high + A_tile_low_2 + 90 * bi && A_tile_high +
                        A_tile_low_2 + 90 * bi + 90 * bj >= 5 && A_tile_high + A_tile_low_2 + 90 * bj >= 4 && A_tile_high +
                        90 * bj >= 2 && 2 * n >= A_tile_high + A_tile_low_2 + 90 * bi + 90 * bj + 1 && n >= A_tile_high +
                        90 * bj && n + 64 >= A_tile_high + A_tile_low_2 + 90 * bj) ?
                        A[(long long)(A_tile_low_2 + 90 * bi - 1) * n + A_tile_high + 90 * bj - 1] : 0.0f;
            }
        }
        __syncthreads();  // A_tile and B_tile must be filled before threads read each other's part
        for (int step = 20 * c0; step < polytile_min(polytile_min(polytile_min(2 * tsteps, 20 * c0 + 20), n +
                20 * c0 - 90 * bi - 1), n + 20 * c0 - 90 * bj - 1); ++step) {
            if ((step + 1) % 2 == 0) {
                for (int i = ti + 8 * polytile_floord(-20 * c0 + 90 * bi + step - ti + 7, 8); i <
                        polytile_min(n - 1, 20 * c0 + 90 * bi - step + 64); i += 8) {
                    for (int j = tj + 32 * ((-20 * c0 + 90 * bj + step - tj + 31) / 32); j <
                            polytile_min(n - 1, 20 * c0 + 90 * bj - step + 64); j += 32) {
                        A_tile[-90 * bi + i + 1][-90 * bj + j + 1] = 0.2f * (B_tile[-90 * bi + i][-90 * bj + j] +
                                B_tile[-90 * bi + i][-90 * bj + j - 1] + B_tile[-90 * bi + i][-90 * bj + j + 1] +
                                B_tile[-90 * bi + i + 1][-90 * bj + j] + B_tile[-90 * bi + i - 1][-90 * bj + j]);  // jacobi-2d.c:27
                    }
                }
            } else {
                for (int i = ti + 8 * polytile_floord(polytile_max(1, -20 * c0 + 90 * bi + step) - ti + 7, 8); i <
                        polytile_min(n - 1, 20 * c0 + 90 * bi - step + 64); i += 8) {
                    for (int j = tj + 32 * polytile_floord(polytile_max(1, -20 * c0 + 90 * bj + step) - tj + 31, 32); j <
                            polytile_min(n - 1, 20 * c0 + 90 * bj - step + 64); j += 32) {
                        B_tile[-90 * bi + i][-90 * bj + j] = 0.2f * (A_tile[-90 * bi + i + 1][-90 * bj + j + 1] +
                                A_tile[-90 * bi + i + 1][-90 * bj + j] + A_tile[-90 * bi + i + 1][-90 * bj + j + 2] +
                                A_tile[-90 * bi + i + 2][-90 * bj + j + 1] + A_tile[-90 * bi + i][-90 * bj + j + 1]);  // jacobi-2d.c:22
                    }
                }
            }
            __syncthreads();  // asked for by the schedule
        }
        __syncthreads();  // A_tile and B_tile must be complete before it is stored
        // B_tile back to B
        int B_tile_low_5 = ti % 2;
        int B_tile_high_5 = ti / 2;
        if (90 * bi + 65 <= n && 3 <= 180 * bi && 90 * bj + 65 <= n && 1 <= 90 * bj) {
            #pragma unroll
            for (int B_tile_0_2 = 0; B_tile_0_2 < 64; B_tile_0_2 += 4) {
                B[(long long)(B_tile_0_2 + B_tile_high_5 + 90 * bi) * n + tj + B_tile_low_5 * 32 + 90 * bj] =
                        B_tile[B_tile_0_2 + B_tile_high_5][tj + B_tile_low_5 * 32];
            }
        } else {
            #pragma unroll
            for (int B_tile_0_2 = 0; B_tile_0_2 < 64; B_tile_0_2 += 4) {
                if (n >= B_tile_0_2 + B_tile_high_5 + 90 * bi + 2 && B_tile_0_2 + B_tile_high_5 + 90 * bi >= 1 && n >= tj +
                        B_tile_low_5 * 32 + 90 * bj + 2 && tj + B_tile_low_5 * 32 + 90 * bj >= 1) {
                    B[(long long)(B_tile_0_2 + B_tile_high_5 + 90 * bi) * n + tj + B_tile_low_5 * 32 + 90 * bj] =
                            B_tile[B_tile_0_2 + B_tile_high_5][tj + B_tile_low_5 * 32];
                }
            }
        }
        // A_tile back to A
        if (5940 * bi + 4673 <= 66 * n && 90 * bj + 66 <= n) {
            #pragma unroll
            for (int A_tile_1_2 = 0; A_tile_1_2 < 4356; A_tile_1_2 += 256) {
                int A_tile_low_5 = A_tile_1_2 + (tj + ti * 32);
                if (A_tile_low_5 < 4356) {
                    int A_tile_high_5 = A_tile_low_5 % 66;
                    int A_tile_low_6 = A_tile_low_5 / 66;
                    if (A_tile_high_5 >= 2 && A_tile_high_5 <= 63 && A_tile_low_6 >= 2 && A_tile_low_6 <= 63) {
                        A[(long long)(A_tile_low_6 + 90 * bi - 1) * n + A_tile_high_5 + 90 * bj - 1] =
                                A_tile[A_tile_low_6][A_tile_high_5];
                    }
                }
            }
        } else {
            #pragma unroll
            for (int A_tile_1_2 = 0; A_tile_1_2 < 4356; A_tile_1_2 += 256) {
                int A_tile_low_5 = A_tile_1_2 + (tj + ti * 32);
                if (A_tile_low_5 < 4356) {
                    int A_tile_high_5 = A_tile_low_5 % 66;
                    int A_tile_low_6 = A_tile_low_5 / 66;
                    if (A_tile_high_5 >= 2 && A_tile_high_5 <= 63 && A_tile_low_6 >= 2 && A_tile_low_6 <= 63 && n >=
                            A_tile_low_6 + 90 * bi + 1 && n >= A_tile_high_5 + 90 * bj + 1) {
                        A[(long long)(A_tile_low_6 + 90 * bi - 1) * n + A_tile_high_5 + 90 * bj - 1] =
                                A_tile[A_tile_low_6][A_tile_high_5];
                    }
                }
            }
        }
        __syncthreads();  // the block's next tile may touch what this one used
    }
}

// jacobi-2d.c:22: B[i * n + j] = 0.2f * (A[i * n + j] + A[i * n + j - 1] + A[i * n + j + 1] + A[(i + 1) * n + j]
//     + A[(i - 1) * n + j]);
// jacobi-2d.c:27: A[i * n + j] = 0.2f * (B[i * n + j] + B[i * n + j - 1] + B[i * n + j + 1] + B[(i + 1) * n + j]
//     + B[(i - 1) * n + j]);
// split schedule; blocks: bi = y, bj = x; 32 x 8 x 1 threads
extern "C" __global__ void __launch_bounds__(256, 5) jacobi_2d_scop0_k1(int tsteps, int n, int c0,
        float *__restrict__ B, float *__restrict__ A)
{
    const int tj = threadIdx.x;
    const int ti = threadIdx.y;
    __shared__ float A_tile_2[66][64];
    __shared__ float B_tile_2[64][66];

    polytile_await_launches();
    int bj = (n >= 65 && 10 * c0 + 1 == tsteps ? 0 : -1) + (gridDim.x - 1 - blockIdx.x);
    for (int bi = gridDim.y - 1 - blockIdx.y; bi <= (n - 2) / 90; bi += gridDim.y) {
        if (n + 90 * bj + 86 >= 90 * bi) {
            // B_tile_2 from B
            #pragma unroll
            for (int B_tile_2_1 = 0; B_tile_2_1 < 4224; B_tile_2_1 += 256) {
                int B_tile_2_low = B_tile_2_1 + (tj + ti * 32);
                if (B_tile_2_low < 4224) {
                    int B_tile_2_high = B_tile_2_low % 66;
                    int B_tile_2_low_2 = B_tile_2_low / 66;
                    B_tile_2[B_tile_2_low_2][B_tile_2_high] = (B_tile_2_low_2 + 90 * bi >= 2 && n >= B_tile_2_low_2 + 90 * bi +
                            1 && n >= B_tile_2_high + 90 * bj + 46 && B_tile_2_high + 90 * bj >= -43) ||
                            (n >= B_tile_2_low_2 + 90 * bi + 2 && B_tile_2_low_2 + n + 90 * bi >= B_tile_2_high + 90 * bj + 46 &&
                            n >= B_tile_2_high + 90 * bj + 45 && B_tile_2_high + B_tile_2_low_2 + 90 * bi + 90 * bj >= -43 &&
                            B_tile_2_high + 90 * bj >= -44) ? B[(long long)(B_tile_2_low_2 + 90 * bi) * n + B_tile_2_high +
                            90 * bj + 44] : 0.0f;
                }
            }
            // A_tile_2 from A
            #pragma unroll
            for (int A_tile_2_1 = 0; A_tile_2_1 < 4224; A_tile_2_1 += 256) {
                int A_tile_2_low = A_tile_2_1 + (tj + ti * 32);
                if (A_tile_2_low < 4224) {
                    int A_tile_2_high = A_tile_2_low % 64;
                    int A_tile_2_low_2 = A_tile_2_low / 64;
                    A_tile_2[A_tile_2_low_2][A_tile_2_high] = (A_tile_2_low_2 + 90 * bi >= 3 && n >= A_tile_2_low_2 + 90 * bi &&
                            n >= A_tile_2_high + 90 * bj + 47 && A_tile_2_high + 90 * bj >= -44) ||
                            (n >= A_tile_2_low_2 + 90 * bi + 1 && A_tile_2_low_2 + 90 * bi >= 1 && A_tile_2_low_2 + n +
                            90 * bi >= A_tile_2_high + 90 * bj + 48 && n >= A_tile_2_high + 90 * bj + 46 && A_tile_2_high +
                            A_tile_2_low_2 + 90 * bi + 90 * bj >= -43 && A_tile_2_high + 90 * bj >= -45) ?
                            A[(long long)(A_tile_2_low_2 + 90 * bi - 1) * n + A_tile_2_high + 90 * bj + 45] : 0.0f;
                }
            }
            __syncthreads();  // A_tile_2 and B_tile_2 must be filled before threads read each other's part
            for (int step = polytile_max(polytile_max(20 * c0, 20 * c0 - 90 * bj - 88), -n + 20 * c0 + 90 * bj + 66);
                    step < polytile_min(polytile_min(2 * tsteps, 20 * c0 + 20), n + 20 * c0 - 90 * bi - 1); ++step) {
                if ((step + 1) % 2 == 0) {
                    for (int i = ti + 8 * polytile_floord(-20 * c0 + 90 * bi + step - ti + 7, 8); i <
                            polytile_min(n - 1, 20 * c0 + 90 * bi - step + 64); i += 8) {
                        for (int j = tj + 32 * polytile_floord(polytile_max(1, 20 * c0 + 90 * bj - step + 64) - tj + 31, 32); j <
                                polytile_min(n - 1, -20 * c0 + 90 * bj + step + 90); j += 32) {
                            A_tile_2[-90 * bi + i + 1][-90 * bj + j - 45] = 0.2f * (B_tile_2[-90 * bi + i][-90 * bj + j - 44] +
                                    B_tile_2[-90 * bi + i][-90 * bj + j - 45] + B_tile_2[-90 * bi + i][-90 * bj + j - 43] +
                                    B_tile_2[-90 * bi + i + 1][-90 * bj + j - 44] + B_tile_2[-90 * bi + i - 1][-90 * bj + j - 44]);  // jacobi-2d.c:27
                        }
                    }
                } else {
                    for (int i = ti + 8 * polytile_floord(polytile_max(1, -20 * c0 + 90 * bi + step) - ti + 7, 8); i <
                            polytile_min(n - 1, 20 * c0 + 90 * bi - step + 64); i += 8) {
                        for (int j = tj + 32 * polytile_floord(polytile_max(1, 20 * c0 + 90 * bj - step + 64) - tj + 31, 32); j <
                                polytile_min(n - 1, -20 * c0 + 90 * bj + step + 90); j += 32) {
                            B_tile_2[-90 * bi + i][-90 * bj + j - 44] = 0.2f * (A_tile_2[-90 * bi + i + 1][-90 * bj + j - 45] +
                                    A_tile_2[-90 * bi + i + 1][-90 * bj + j - 46] + A_tile_2[-90 * bi + i + 1][-90 * bj + j - 44] +
                                    A_tile_2[-90 * bi + i + 2][-90 * bj + j - 45] + A_tile_2[-90 * bi + i][-90 * bj + j - 45]);  // jacobi-2d.c:22
                        }
                    }
                }
                __syncthreads();  // asked for by the schedule
            }
            __syncthreads();  // A_tile_2 and B_tile_2 must be complete before it is stored
            // B_tile_2 back to B
            #pragma unroll
            for (int B_tile_2_1_2 = 0; B_tile_2_1_2 < 4224; B_tile_2_1_2 += 256) {
                int B_tile_2_low_5 = B_tile_2_1_2 + (tj + ti * 32);
                if (B_tile_2_low_5 < 4224) {
                    int B_tile_2_high_5 = B_tile_2_low_5 % 66;
                    int B_tile_2_low_6 = B_tile_2_low_5 / 66;
                    if ((B_tile_2_high_5 >= 20 && B_tile_2_high_5 <= 45 && n >= B_tile_2_low_6 + 90 * bi + 2 && B_tile_2_low_6 +
                            90 * bi >= 1 && bj >= 0 && n >= B_tile_2_high_5 + 90 * bj + 46) ||
                            (B_tile_2_high_5 >= 2 && B_tile_2_high_5 <= 19 && B_tile_2_high_5 + 2 * tsteps >= 20 * c0 + 22 &&
                            n >= B_tile_2_low_6 + 90 * bi + 2 && bj >= 0 && n >= B_tile_2_high_5 + 90 * bj + 46 &&
                            B_tile_2_high_5 + B_tile_2_low_6 >= B_tile_2_high_5 % 2 + 20 && B_tile_2_high_5 + 43 >=
                            B_tile_2_high_5 % 2 + B_tile_2_low_6) || (B_tile_2_high_5 >= 46 && B_tile_2_high_5 <= 63 &&
                            2 * tsteps + 43 >= B_tile_2_high_5 + 20 * c0 && n >= B_tile_2_low_6 + 90 * bi + 2 && n >=
                            B_tile_2_high_5 + 90 * bj + 46 && B_tile_2_high_5 + 90 * bj >= -43 && B_tile_2_high_5 % 2 +
                            B_tile_2_low_6 + 44 >= B_tile_2_high_5 && B_tile_2_high_5 % 2 + 107 >= B_tile_2_high_5 +
                            B_tile_2_low_6)) {
                        B[(long long)(B_tile_2_low_6 + 90 * bi) * n + B_tile_2_high_5 + 90 * bj + 44] =
                                B_tile_2[B_tile_2_low_6][B_tile_2_high_5];
                    }
                }
            }
            // A_tile_2 back to A
            #pragma unroll
            for (int A_tile_2_1_2 = 0; A_tile_2_1_2 < 4224; A_tile_2_1_2 += 256) {
                int A_tile_2_low_5 = A_tile_2_1_2 + (tj + ti * 32);
                if (A_tile_2_low_5 < 4224) {
                    int A_tile_2_high_5 = A_tile_2_low_5 % 64;
                    int A_tile_2_low_6 = A_tile_2_low_5 / 64;
                    if ((A_tile_2_high_5 >= 18 && A_tile_2_high_5 <= 45 && A_tile_2_low_6 >= 2 && A_tile_2_low_6 <= 63 && n >=
                            A_tile_2_low_6 + 90 * bi + 1 && bj >= 0 && n >= A_tile_2_high_5 + 90 * bj + 47) ||
                            (A_tile_2_high_5 >= 46 && 2 * tsteps + 43 >= A_tile_2_high_5 + 20 * c0 && n >= A_tile_2_low_6 +
                            90 * bi + 1 && n >= A_tile_2_high_5 + 90 * bj + 47 && A_tile_2_high_5 % 2 + A_tile_2_low_6 + 42 >=
                            A_tile_2_high_5 && A_tile_2_high_5 % 2 + 107 >= A_tile_2_high_5 + A_tile_2_low_6) ||
                            (A_tile_2_high_5 <= 17 && A_tile_2_high_5 + 2 * tsteps >= 20 * c0 + 20 && n >= A_tile_2_low_6 +
                            90 * bi + 1 && bj >= 0 && n >= A_tile_2_high_5 + 90 * bj + 47 && A_tile_2_high_5 + A_tile_2_low_6 >=
                            A_tile_2_high_5 % 2 + 20 && A_tile_2_high_5 + 45 >= A_tile_2_high_5 % 2 + A_tile_2_low_6)) {
                        A[(long long)(A_tile_2_low_6 + 90 * bi - 1) * n + A_tile_2_high_5 + 90 * bj + 45] =
                                A_tile_2[A_tile_2_low_6][A_tile_2_high_5];
                    }
                }
            }
        }
        __syncthreads();  // the block's next tile may touch what this one used
    }
}

// jacobi-2d.c:22: B[i * n + j] = 0.2f * (A[i * n + j] + A[i * n + j - 1] + A[i * n + j + 1] + A[(i + 1) * n + j]
//     + A[(i - 1) * n + j]);
// jacobi-2d.c:27: A[i * n + j] = 0.2f * (B[i * n + j] + B[i * n + j - 1] + B[i * n + j + 1] + B[(i + 1) * n + j]
//     + B[(i - 1) * n + j]);
// split schedule; blocks: bi = y, bj = x; 32 x 8 x 1 threads
extern "C" __global__ void __launch_bounds__(256, 5) jacobi_2d_scop0_k2(int tsteps, int n, int c0,
        float *__restrict__ B, float *__restrict__ A)
{
    const int bj = blockIdx.x;
    const int tj = threadIdx.x;
    const int ti = threadIdx.y;
    __shared__ float A_tile_3[64][66];
    __shared__ float B_tile_3[66][64];

    polytile_await_launches();
    for (int bi = polytile_max(-1, -((tsteps - 10 * c0 + 43) / 45)) + blockIdx.y; bi <=
            (tsteps >= 10 * c0 + 10 && (n + 43) % 90 == 0 ? (n - 47) / 90 :
            (10 * c0 + 9 >= tsteps && 2 * tsteps >= n + 20 * c0 + 1) ||
            (tsteps >= 10 * c0 + 2 && 10 * c0 + 9 >= tsteps && n + 20 * c0 >= 2 * tsteps &&
            (2 * tsteps + n - 20 * c0 + 23) % 90 >= 1) || (n >= 66 && 10 * c0 + 1 == tsteps && (n - 65) % 90 >=
            1) ? (2 * tsteps + n - 20 * c0 + 22) / 90 - 1 : (n + 42) / 90 - 1); bi += gridDim.y) {
        if (n + 90 * bi + 86 >= 90 * bj) {
            // A_tile_3 from A
            #pragma unroll
            for (int A_tile_3_1 = 0; A_tile_3_1 < 4224; A_tile_3_1 += 256) {
                int A_tile_3_low = A_tile_3_1 + (tj + ti * 32);
                if (A_tile_3_low < 4224) {
                    int A_tile_3_high = A_tile_3_low % 66;
                    int A_tile_3_low_2 = A_tile_3_low / 66;
                    A_tile_3[A_tile_3_low_2][A_tile_3_high] = (n >= A_tile_3_low_2 + 90 * bi + 46 && A_tile_3_low_2 + 90 * bi >=
                            -43 && A_tile_3_high + 90 * bj >= 2 && n >= A_tile_3_high + 90 * bj + 1) ||
                            (n >= A_tile_3_low_2 + 90 * bi + 47 && A_tile_3_low_2 + 90 * bi >= -45 && A_tile_3_high + 90 * bj >=
                            1 && n >= A_tile_3_high + 90 * bj && A_tile_3_high + A_tile_3_low_2 + 90 * bi + 90 * bj >= -43 &&
                            A_tile_3_low_2 + n + 90 * bi + 44 >= A_tile_3_high + 90 * bj) ?
                            A[(long long)(A_tile_3_low_2 + 90 * bi + 45) * n + A_tile_3_high + 90 * bj - 1] : 0.0f;
                }
            }
            // B_tile_3 from B
            #pragma unroll
            for (int B_tile_3_1 = 0; B_tile_3_1 < 4224; B_tile_3_1 += 256) {
                int B_tile_3_low = B_tile_3_1 + (tj + ti * 32);
                if (B_tile_3_low < 4224) {
                    int B_tile_3_high = B_tile_3_low % 64;
                    int B_tile_3_low_2 = B_tile_3_low / 64;
                    B_tile_3[B_tile_3_low_2][B_tile_3_high] = (n >= B_tile_3_low_2 + 90 * bi + 45 && B_tile_3_low_2 + 90 * bi >=
                            -42 && n >= B_tile_3_high + 90 * bj + 2 && B_tile_3_high + 90 * bj >= 1) ||
                            (n >= B_tile_3_low_2 + 90 * bi + 46 && B_tile_3_low_2 + 90 * bi >= -44 && n >= B_tile_3_high +
                            90 * bj + 1 && B_tile_3_low_2 + n + 90 * bi + 42 >= B_tile_3_high + 90 * bj && B_tile_3_high +
                            B_tile_3_low_2 + 90 * bi + 90 * bj >= -43) ? B[(long long)(B_tile_3_low_2 + 90 * bi + 44) * n +
                            B_tile_3_high + 90 * bj] : 0.0f;
                }
            }
            __syncthreads();  // A_tile_3 and B_tile_3 must be filled before threads read each other's part
            for (int step = polytile_max(polytile_max(20 * c0, 20 * c0 - 90 * bi - 88), -n + 20 * c0 + 90 * bi + 66);
                    step < polytile_min(polytile_min(2 * tsteps, 20 * c0 + 20), n + 20 * c0 - 90 * bj - 1); ++step) {
                if ((step + 1) % 2 == 0) {
                    for (int i = ti + 8 * polytile_floord(polytile_max(1, 20 * c0 + 90 * bi - step + 64) - ti + 7, 8); i <
                            polytile_min(n - 1, -20 * c0 + 90 * bi + step + 90); i += 8) {
                        for (int j = tj + 32 * ((-20 * c0 + 90 * bj + step - tj + 31) / 32); j <
                                polytile_min(n - 1, 20 * c0 + 90 * bj - step + 64); j += 32) {
                            A_tile_3[-90 * bi + i - 45][-90 * bj + j + 1] = 0.2f * (B_tile_3[-90 * bi + i - 44][-90 * bj + j] +
                                    B_tile_3[-90 * bi + i - 44][-90 * bj + j - 1] + B_tile_3[-90 * bi + i - 44][-90 * bj + j + 1] +
                                    B_tile_3[-90 * bi + i - 43][-90 * bj + j] + B_tile_3[-90 * bi + i - 45][-90 * bj + j]);  // jacobi-2d.c:27
                        }
                    }
                } else {
                    for (int i = ti + 8 * polytile_floord(polytile_max(1, 20 * c0 + 90 * bi - step + 64) - ti + 7, 8); i <
                            polytile_min(n - 1, -20 * c0 + 90 * bi + step + 90); i += 8) {
                        for (int j = tj + 32 * polytile_floord(polytile_max(1, -20 * c0 + 90 * bj + step) - tj + 31, 32); j <
                                polytile_min(n - 1, 20 * c0 + 90 * bj - step + 64); j += 32) {
                            B_tile_3[-90 * bi + i - 44][-90 * bj + j] = 0.2f * (A_tile_3[-90 * bi + i - 45][-90 * bj + j + 1] +
                                    A_tile_3[-90 * bi + i - 45][-90 * bj + j] + A_tile_3[-90 * bi + i - 45][-90 * bj + j + 2] +
                                    A_tile_3[-90 * bi + i - 44][-90 * bj + j + 1] + A_tile_3[-90 * bi + i - 46][-90 * bj + j + 1]);  // jacobi-2d.c:22
                        }
                    }
                }
                __syncthreads();  // asked for by the schedule
            }
            __syncthreads();  // A_tile_3 and B_tile_3 must be complete before it is stored
            // A_tile_3 back to A
            #pragma unroll
            for (int A_tile_3_1_2 = 0; A_tile_3_1_2 < 4224; A_tile_3_1_2 += 256) {
                int A_tile_3_low_5 = A_tile_3_1_2 + (tj + ti * 32);
                if (A_tile_3_low_5 < 4224) {
                    int A_tile_3_high_5 = A_tile_3_low_5 % 66;
                    int A_tile_3_low_6 = A_tile_3_low_5 / 66;
                    if ((A_tile_3_high_5 >= 2 && A_tile_3_high_5 <= 63 && A_tile_3_low_6 >= 18 && A_tile_3_low_6 <= 45 && bi >=
                            0 && n >= A_tile_3_low_6 + 90 * bi + 47 && n >= A_tile_3_high_5 + 90 * bj + 1) ||
                            (A_tile_3_low_6 >= 46 && 2 * tsteps + 43 >= A_tile_3_low_6 + 20 * c0 && n >= A_tile_3_low_6 +
                            90 * bi + 47 && n >= A_tile_3_high_5 + 90 * bj + 1 && A_tile_3_low_6 % 2 + A_tile_3_high_5 + 42 >=
                            A_tile_3_low_6 && A_tile_3_low_6 % 2 + 107 >= A_tile_3_high_5 + A_tile_3_low_6) ||
                            (A_tile_3_low_6 <= 17 && A_tile_3_low_6 + 2 * tsteps >= 20 * c0 + 20 && bi >= 0 && n >=
                            A_tile_3_low_6 + 90 * bi + 47 && n >= A_tile_3_high_5 + 90 * bj + 1 && A_tile_3_high_5 +
                            A_tile_3_low_6 >= A_tile_3_low_6 % 2 + 20 && A_tile_3_low_6 + 45 >= A_tile_3_low_6 % 2 +
                            A_tile_3_high_5)) {
                        A[(long long)(A_tile_3_low_6 + 90 * bi + 45) * n + A_tile_3_high_5 + 90 * bj - 1] =
                                A_tile_3[A_tile_3_low_6][A_tile_3_high_5];
                    }
                }
            }
            // B_tile_3 back to B
            #pragma unroll
            for (int B_tile_3_1_2 = 0; B_tile_3_1_2 < 4224; B_tile_3_1_2 += 256) {
                int B_tile_3_low_5 = B_tile_3_1_2 + (tj + ti * 32);
                if (B_tile_3_low_5 < 4224) {
                    int B_tile_3_high_5 = B_tile_3_low_5 % 64;
                    int B_tile_3_low_6 = B_tile_3_low_5 / 64;
                    if ((B_tile_3_low_6 >= 20 && B_tile_3_low_6 <= 45 && bi >= 0 && n >= B_tile_3_low_6 + 90 * bi + 46 && n >=
                            B_tile_3_high_5 + 90 * bj + 2 && B_tile_3_high_5 + 90 * bj >= 1) ||
                            (B_tile_3_low_6 >= 2 && B_tile_3_low_6 <= 19 && B_tile_3_low_6 + 2 * tsteps >= 20 * c0 + 22 && bi >=
                            0 && n >= B_tile_3_low_6 + 90 * bi + 46 && n >= B_tile_3_high_5 + 90 * bj + 2 && B_tile_3_high_5 +
                            B_tile_3_low_6 >= B_tile_3_low_6 % 2 + 20 && B_tile_3_low_6 + 43 >= B_tile_3_low_6 % 2 +
                            B_tile_3_high_5) || (B_tile_3_low_6 >= 46 && B_tile_3_low_6 <= 63 && 2 * tsteps + 43 >=
                            B_tile_3_low_6 + 20 * c0 && n >= B_tile_3_low_6 + 90 * bi + 46 && B_tile_3_low_6 + 90 * bi >= -43 &&
                            n >= B_tile_3_high_5 + 90 * bj + 2 && B_tile_3_low_6 % 2 + B_tile_3_high_5 + 44 >= B_tile_3_low_6 &&
                            B_tile_3_low_6 % 2 + 107 >= B_tile_3_high_5 + B_tile_3_low_6)) {
                        B[(long long)(B_tile_3_low_6 + 90 * bi + 44) * n + B_tile_3_high_5 + 90 * bj] =
                                B_tile_3[B_tile_3_low_6][B_tile_3_high_5];
                    }
                }
            }
        }
        __syncthreads();  // the block's next tile may touch what this one used
    }
}

// jacobi-2d.c:22: B[i * n + j] = 0.2f * (A[i * n + j] + A[i * n + j - 1] + A[i * n + j + 1] + A[(i + 1) * n + j]
//     + A[(i - 1) * n + j]);
// jacobi-2d.c:27: A[i * n + j] = 0.2f * (B[i * n + j] + B[i * n + j - 1] + B[i * n + j + 1] + B[(i + 1) * n + j]
//     + B[(i - 1) * n + j]);
// split schedule; blocks: bi = y, bj = x; 32 x 8 x 1 threads
extern "C" __global__ void __launch_bounds__(256, 5) jacobi_2d_scop0_k3(int tsteps, int n, int c0,
        float *__restrict__ B, float *__restrict__ A)
{
    const int tj = threadIdx.x;
    const int ti = threadIdx.y;
    __shared__ float A_tile_4[64][64];
    __shared__ float B_tile_4[66][66];

    polytile_await_launches();
    int bj = polytile_max(-1, -((tsteps - 10 * c0 + 43) / 45)) + (gridDim.x - 1 - blockIdx.x);
    for (int bi = polytile_max(-1, -((tsteps - 10 * c0 + 43) / 45)) + (gridDim.y - 1 - blockIdx.y); bi <
            polytile_min((n + 43) / 90, (2 * tsteps + n - 20 * c0 + 23) / 90); bi += gridDim.y) {
        // B_tile_4 from B
        #pragma unroll
        for (int B_tile_4_1 = 0; B_tile_4_1 < 4356; B_tile_4_1 += 256) {
            int B_tile_4_low = B_tile_4_1 + (tj + ti * 32);
            if (B_tile_4_low < 4356) {
                int B_tile_4_high = B_tile_4_low % 66;
                int B_tile_4_low_2 = B_tile_4_low / 66;
                B_tile_4[B_tile_4_low_2][B_tile_4_high] = (n >= B_tile_4_low_2 + 90 * bi + 45 && B_tile_4_low_2 + 90 * bi >=
                        -42 && n >= B_tile_4_high + 90 * bj + 46 && B_tile_4_high + 90 * bj >= -43) ||
                        (n >= B_tile_4_low_2 + 90 * bi + 46 && B_tile_4_low_2 + 90 * bi >= -44 && n >= B_tile_4_high +
                        90 * bj + 45 && B_tile_4_low_2 + n + 90 * bi >= B_tile_4_high + 90 * bj + 2 && B_tile_4_high +
                        90 * bj >= -44 && B_tile_4_high + B_tile_4_low_2 + 90 * bi + 90 * bj >= -87) ?
                        B[(long long)(B_tile_4_low_2 + 90 * bi + 44) * n + B_tile_4_high + 90 * bj + 44] : 0.0f;
            }
        }
        // A_tile_4 from A
        int A_tile_4_low = ti % 2;
        int A_tile_4_high = ti / 2;
        #pragma unroll
        for (int A_tile_4_0 = 0; A_tile_4_0 < 64; A_tile_4_0 += 4) {
            A_tile_4[A_tile_4_0 + A_tile_4_high][tj + A_tile_4_low * 32] =
                    (n >= A_tile_4_0 + A_tile_4_high + 90 * bi + 46 && A_tile_4_0 + A_tile_4_high + 90 * bi >= -43 &&
                    n >= tj + A_tile_4_low * 32 + 90 * bj + 47 && tj + A_tile_4_low * 32 + 90 * bj >= -44) ||
                    (n >= A_tile_4_0 + A_tile_4_high + 90 * bi + 47 && A_tile_4_0 + A_tile_4_high + 90 * bi >= -45 &&
                    n >= tj + A_tile_4_low * 32 + 90 * bj + 46 && A_tile_4_0 + A_tile_4_high + n + 90 * bi >= tj +
                    A_tile_4_low * 32 + 90 * bj + 2 && tj + A_tile_4_low * 32 + 90 * bj >= -45 && tj +
                    A_tile_4_low * 32 + (A_tile_4_0 + A_tile_4_high) + 90 * bi + 90 * bj >= -89) ?
                    A[(long long)(A_tile_4_0 + A_tile_4_high + 90 * bi + 45) * n + tj + A_tile_4_low * 32 + 90 * bj +
                    45] : 0.0f;
        }
        __syncthreads();  // A_tile_4 and B_tile_4 must be filled before threads read each other's part
        for (int step = polytile_max(polytile_max(polytile_max(polytile_max(20 * c0, 20 * c0 - 90 * bi - 88), -n +
                20 * c0 + 90 * bi + 66), 20 * c0 - 90 * bj - 88), -n + 20 * c0 + 90 * bj + 66); step <
                polytile_min(2 * tsteps, 20 * c0 + 20); ++step) {
            if ((step + 1) % 2 == 0) {
                for (int i = ti + 8 * polytile_floord(polytile_max(1, 20 * c0 + 90 * bi - step + 64) - ti + 7, 8); i <
                        polytile_min(n - 1, -20 * c0 + 90 * bi + step + 90); i += 8) {
                    for (int j = tj + 32 * polytile_floord(polytile_max(1, 20 * c0 + 90 * bj - step + 64) - tj + 31, 32); j <
                            polytile_min(n - 1, -20 * c0 + 90 * bj + step + 90); j += 32) {
                        A_tile_4[-90 * bi + i - 45][-90 * bj + j - 45] = 0.2f * (B_tile_4[-90 * bi + i - 44][-90 * bj + j - 44] +
                                B_tile_4[-90 * bi + i - 44][-90 * bj + j - 45] + B_tile_4[-90 * bi + i - 44][-90 * bj + j - 43] +
                                B_tile_4[-90 * bi + i - 43][-90 * bj + j - 44] + B_tile_4[-90 * bi + i - 45][-90 * bj + j - 44]);  // jacobi-2d.c:27
                    }
                }
            } else {
                for (int i = ti + 8 * polytile_floord(polytile_max(1, 20 * c0 + 90 * bi - step + 64) - ti + 7, 8); i <
                        polytile_min(n - 1, -20 * c0 + 90 * bi + step + 90); i += 8) {
                    for (int j = tj + 32 * polytile_floord(polytile_max(1, 20 * c0 + 90 * bj - step + 64) - tj + 31, 32); j <
                            polytile_min(n - 1, -20 * c0 + 90 * bj + step + 90); j += 32) {
                        B_tile_4[-90 * bi + i - 44][-90 * bj + j - 44] = 0.2f * (A_tile_4[-90 * bi + i - 45][-90 * bj + j - 45] +
                                A_tile_4[-90 * bi + i - 45][-90 * bj + j - 46] + A_tile_4[-90 * bi + i - 45][-90 * bj + j - 44] +
                                A_tile_4[-90 * bi + i - 44][-90 * bj + j - 45] + A_tile_4[-90 * bi + i - 46][-90 * bj + j - 45]);  // jacobi-2d.c:22
                    }
                }
            }
            __syncthreads();  // asked for by the schedule
        }
        __syncthreads();  // A_tile_4 and B_tile_4 must be complete before it is stored
        // B_tile_4 back to B
        if (1320 * c0 + 1517 <= 132 * tsteps && 20 * c0 + 22 <= 2 * tsteps && 1320 * c0 + 1769 <= 132 * tsteps &&
                5940 * bi + 7643 <= 66 * n && 0 <= 5940 * bi + 2773 && 90 * bj + 111 <= n && 0 <= 90 * bj + 43) {
            #pragma unroll
            for (int B_tile_4_1_2 = 0; B_tile_4_1_2 < 4356; B_tile_4_1_2 += 256) {
                int B_tile_4_low_5 = B_tile_4_1_2 + (tj + ti * 32);
                if (B_tile_4_low_5 < 4356) {
                    int B_tile_4_high_5 = B_tile_4_low_5 % 66;
                    int B_tile_4_low_6 = B_tile_4_low_5 / 66;
                    if (B_tile_4_high_5 >= 2 && B_tile_4_high_5 <= 63 && B_tile_4_low_6 >= 2 && B_tile_4_low_6 <= 63) {
                        B[(long long)(B_tile_4_low_6 + 90 * bi + 44) * n + B_tile_4_high_5 + 90 * bj + 44] =
                                B_tile_4[B_tile_4_low_6][B_tile_4_high_5];
                    }
                }
            }
        } else {
            #pragma unroll
            for (int B_tile_4_1_2 = 0; B_tile_4_1_2 < 4356; B_tile_4_1_2 += 256) {
                int B_tile_4_low_5 = B_tile_4_1_2 + (tj + ti * 32);
                if (B_tile_4_low_5 < 4356) {
                    int B_tile_4_high_5 = B_tile_4_low_5 % 66;
                    int B_tile_4_low_6 = B_tile_4_low_5 / 66;
                    if (B_tile_4_high_5 >= 2 && B_tile_4_high_5 <= 63 && B_tile_4_low_6 >= 2 && B_tile_4_low_6 <= 63 &&
                            B_tile_4_low_6 + 2 * tsteps >= 20 * c0 + 22 && B_tile_4_high_5 + 2 * tsteps >= 20 * c0 + 22 &&
                            2 * tsteps + 43 >= B_tile_4_high_5 + 20 * c0 && 2 * tsteps + 43 >= B_tile_4_low_6 + 20 * c0 && n >=
                            B_tile_4_low_6 + 90 * bi + 46 && B_tile_4_low_6 + 90 * bi >= -43 && n >= B_tile_4_high_5 + 90 * bj +
                            46 && B_tile_4_high_5 + 90 * bj >= -43) {
                        B[(long long)(B_tile_4_low_6 + 90 * bi + 44) * n + B_tile_4_high_5 + 90 * bj + 44] =
                                B_tile_4[B_tile_4_low_6][B_tile_4_high_5];
                    }
                }
            }
        }
        // A_tile_4 back to A
        int A_tile_4_low_5 = ti % 2;
        int A_tile_4_high_5 = ti / 2;
        if (40 * c0 + 41 <= 4 * tsteps && 20 * c0 + 20 <= 2 * tsteps && 90 * bi + 110 <= n && 0 <= 180 * bi + 87 &&
                90 * bj + 110 <= n && 0 <= 90 * bj + 44) {
            #pragma unroll
            for (int A_tile_4_0_2 = 0; A_tile_4_0_2 < 64; A_tile_4_0_2 += 4) {
                A[(long long)(A_tile_4_0_2 + A_tile_4_high_5 + 90 * bi + 45) * n + tj + A_tile_4_low_5 * 32 + 90 * bj + 45] =
                        A_tile_4[A_tile_4_0_2 + A_tile_4_high_5][tj + A_tile_4_low_5 * 32];
            }
        } else {
            #pragma unroll
            for (int A_tile_4_0_2 = 0; A_tile_4_0_2 < 64; A_tile_4_0_2 += 4) {
                if (A_tile_4_0_2 + A_tile_4_high_5 + 2 * tsteps >= 20 * c0 + 20 && tj + A_tile_4_low_5 * 32 + 2 * tsteps >=
                        20 * c0 + 20 && 2 * tsteps + 43 >= tj + A_tile_4_low_5 * 32 + 20 * c0 && 2 * tsteps + 43 >=
                        A_tile_4_0_2 + A_tile_4_high_5 + 20 * c0 && n >= A_tile_4_0_2 + A_tile_4_high_5 + 90 * bi + 47 &&
                        A_tile_4_0_2 + A_tile_4_high_5 + 90 * bi >= -44 && n >= tj + A_tile_4_low_5 * 32 + 90 * bj + 47 &&
                        tj + A_tile_4_low_5 * 32 + 90 * bj >= -44) {
                    A[(long long)(A_tile_4_0_2 + A_tile_4_high_5 + 90 * bi + 45) * n + tj + A_tile_4_low_5 * 32 + 90 * bj + 45] =
                            A_tile_4[A_tile_4_0_2 + A_tile_4_high_5][tj + A_tile_4_low_5 * 32];
                }
            }
        }
        __syncthreads();  // the block's next tile may touch what this one used
    }
}
