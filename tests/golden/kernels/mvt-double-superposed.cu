// mvt.c:48: partial results of x1: over all lanes
// mvt.c:48: partial results of x1: before the first
// mvt.c:48: x1[i] = x1[i] + A[i][j] * y_1[j];
// mvt.c:51: partial results of x2: over all lanes
// mvt.c:51: partial results of x2: over all lanes, each thread
// mvt.c:51: partial results of x2: before the first
// mvt.c:51: x2[i] = x2[i] + A[j][i] * y_2[j];
// superposed schedule; blocks: b0 = y, b1 = x; 32 x 8 x 1 threads
extern "C" __global__ void __launch_bounds__(256, 3) main_scop0_k0(int n, const double *__restrict__ A,
        const double *__restrict__ y_1, const double *__restrict__ y_2, double *__restrict__ x1_mid,
        double *__restrict__ x2_mid)
{
    const int b1 = blockIdx.x;
    const int t1 = threadIdx.x;
    const int t0 = threadIdx.y;
    __shared__ double x2_part_all[64][9];
    double x1_part;
    double x2_part[2];

    polytile_await_launches();
    for (int b0 = blockIdx.y; b0 <= (n - 1) / 256; b0 += gridDim.y) {
        if (n >= t1 + 64 * b1 + 1) {
            x2_part[0] = 0.0;
            if (n >= t1 + 64 * b1 + 33) {
                x2_part[1] = 0.0;
            }
        }
        {
            int c_4_last = polytile_min(32 * b0 + 31, polytile_floord(n - t0 - 1, 8));
            double y_1_fixed = (32 * b0 <= c_4_last) & (n >= t1 + 64 * b1 + 1) ? y_1[t1 + 64 * b1] : 0.0;  // mvt.c:48
            double y_11_fixed = (32 * b0 <= c_4_last) & (n >= t1 + 64 * b1 + 33) ? y_1[t1 + 64 * b1 + 32] : 0.0;
            #pragma unroll 1
            for (int c_4 = 32 * b0; c_4 <= c_4_last; c_4 += 8) {
                double x1_part_at0 = 0.0;
                double A_at0 = n >= t1 + 64 * b1 + 1 ? A[(long long)(t0 + 8 * c_4) * n + t1 + 64 * b1] : 0.0;
                double y_2_at0 = n >= t1 + 64 * b1 + 1 ? y_2[t0 + 8 * c_4] : 0.0;  // mvt.c:51
                double A1_at0 = n >= t1 + 64 * b1 + 33 ? A[(long long)(t0 + 8 * c_4) * n + t1 + 64 * b1 + 32] : 0.0;  // mvt.c:48
                double x1_part_at1 = 0.0;
                double A_at1 = (c_4 <= c_4_last - 1) & (n >= t1 + 64 * b1 + 1) ?
                        A[(long long)(t0 + 8 * (c_4 + 1)) * n + t1 + 64 * b1] : 0.0;
                double y_2_at1 = (c_4 <= c_4_last - 1) & (n >= t1 + 64 * b1 + 1) ? y_2[t0 + 8 * (c_4 + 1)] : 0.0;  // mvt.c:51
                double A1_at1 = (c_4 <= c_4_last - 1) & (n >= t1 + 64 * b1 + 33) ?
                        A[(long long)(t0 + 8 * (c_4 + 1)) * n + t1 + 64 * b1 + 32] : 0.0;  // mvt.c:48
                double x1_part_at2 = 0.0;
                double A_at2 = (c_4 <= c_4_last - 2) & (n >= t1 + 64 * b1 + 1) ?
                        A[(long long)(t0 + 8 * (c_4 + 2)) * n + t1 + 64 * b1] : 0.0;
                double y_2_at2 = (c_4 <= c_4_last - 2) & (n >= t1 + 64 * b1 + 1) ? y_2[t0 + 8 * (c_4 + 2)] : 0.0;  // mvt.c:51
                double A1_at2 = (c_4 <= c_4_last - 2) & (n >= t1 + 64 * b1 + 33) ?
                        A[(long long)(t0 + 8 * (c_4 + 2)) * n + t1 + 64 * b1 + 32] : 0.0;  // mvt.c:48
                double x1_part_at3 = 0.0;
                double A_at3 = (c_4 <= c_4_last - 3) & (n >= t1 + 64 * b1 + 1) ?
                        A[(long long)(t0 + 8 * (c_4 + 3)) * n + t1 + 64 * b1] : 0.0;
                double y_2_at3 = (c_4 <= c_4_last - 3) & (n >= t1 + 64 * b1 + 1) ? y_2[t0 + 8 * (c_4 + 3)] : 0.0;  // mvt.c:51
                double A1_at3 = (c_4 <= c_4_last - 3) & (n >= t1 + 64 * b1 + 33) ?
                        A[(long long)(t0 + 8 * (c_4 + 3)) * n + t1 + 64 * b1 + 32] : 0.0;  // mvt.c:48
                double x1_part_at4 = 0.0;
                double A_at4 = (c_4 <= c_4_last - 4) & (n >= t1 + 64 * b1 + 1) ?
                        A[(long long)(t0 + 8 * (c_4 + 4)) * n + t1 + 64 * b1] : 0.0;
                double y_2_at4 = (c_4 <= c_4_last - 4) & (n >= t1 + 64 * b1 + 1) ? y_2[t0 + 8 * (c_4 + 4)] : 0.0;  // mvt.c:51
                double A1_at4 = (c_4 <= c_4_last - 4) & (n >= t1 + 64 * b1 + 33) ?
                        A[(long long)(t0 + 8 * (c_4 + 4)) * n + t1 + 64 * b1 + 32] : 0.0;  // mvt.c:48
                double x1_part_at5 = 0.0;
                double A_at5 = (c_4 <= c_4_last - 5) & (n >= t1 + 64 * b1 + 1) ?
                        A[(long long)(t0 + 8 * (c_4 + 5)) * n + t1 + 64 * b1] : 0.0;
                double y_2_at5 = (c_4 <= c_4_last - 5) & (n >= t1 + 64 * b1 + 1) ? y_2[t0 + 8 * (c_4 + 5)] : 0.0;  // mvt.c:51
                double A1_at5 = (c_4 <= c_4_last - 5) & (n >= t1 + 64 * b1 + 33) ?
                        A[(long long)(t0 + 8 * (c_4 + 5)) * n + t1 + 64 * b1 + 32] : 0.0;  // mvt.c:48
                double x1_part_at6 = 0.0;
                double A_at6 = (c_4 <= c_4_last - 6) & (n >= t1 + 64 * b1 + 1) ?
                        A[(long long)(t0 + 8 * (c_4 + 6)) * n + t1 + 64 * b1] : 0.0;
                double y_2_at6 = (c_4 <= c_4_last - 6) & (n >= t1 + 64 * b1 + 1) ? y_2[t0 + 8 * (c_4 + 6)] : 0.0;  // mvt.c:51
                double A1_at6 = (c_4 <= c_4_last - 6) & (n >= t1 + 64 * b1 + 33) ?
                        A[(long long)(t0 + 8 * (c_4 + 6)) * n + t1 + 64 * b1 + 32] : 0.0;  // mvt.c:48
                double x1_part_at7 = 0.0;
                double A_at7 = (c_4 <= c_4_last - 7) & (n >= t1 + 64 * b1 + 1) ?
                        A[(long long)(t0 + 8 * (c_4 + 7)) * n + t1 + 64 * b1] : 0.0;
                double y_2_at7 = (c_4 <= c_4_last - 7) & (n >= t1 + 64 * b1 + 1) ? y_2[t0 + 8 * (c_4 + 7)] : 0.0;  // mvt.c:51
                double A1_at7 = (c_4 <= c_4_last - 7) & (n >= t1 + 64 * b1 + 33) ?
                        A[(long long)(t0 + 8 * (c_4 + 7)) * n + t1 + 64 * b1 + 32] : 0.0;  // mvt.c:48
                x1_part = 0.0;
                if (n >= t1 + 64 * b1 + 1) {
                    x1_part += A_at0 * y_1_fixed;
                    x2_part[0] += A_at0 * y_2_at0;  // mvt.c:51
                    if (n >= t1 + 64 * b1 + 33) {
                        x1_part += A1_at0 * y_11_fixed;  // mvt.c:48
                        x2_part[1] += A1_at0 * y_2_at0;  // mvt.c:51
                    }
                }
                x1_part_at0 = x1_part;
                if (c_4 <= c_4_last - 1) {
                    x1_part = 0.0;
                    if (n >= t1 + 64 * b1 + 1) {
                        x1_part += A_at1 * y_1_fixed;
                        x2_part[0] += A_at1 * y_2_at1;  // mvt.c:51
                        if (n >= t1 + 64 * b1 + 33) {
                            x1_part += A1_at1 * y_11_fixed;  // mvt.c:48
                            x2_part[1] += A1_at1 * y_2_at1;  // mvt.c:51
                        }
                    }
                    x1_part_at1 = x1_part;
                }
                if (c_4 <= c_4_last - 2) {
                    x1_part = 0.0;
                    if (n >= t1 + 64 * b1 + 1) {
                        x1_part += A_at2 * y_1_fixed;
                        x2_part[0] += A_at2 * y_2_at2;  // mvt.c:51
                        if (n >= t1 + 64 * b1 + 33) {
                            x1_part += A1_at2 * y_11_fixed;  // mvt.c:48
                            x2_part[1] += A1_at2 * y_2_at2;  // mvt.c:51
                        }
                    }
                    x1_part_at2 = x1_part;
                }
                if (c_4 <= c_4_last - 3) {
                    x1_part = 0.0;
                    if (n >= t1 + 64 * b1 + 1) {
                        x1_part += A_at3 * y_1_fixed;
                        x2_part[0] += A_at3 * y_2_at3;  // mvt.c:51
                        if (n >= t1 + 64 * b1 + 33) {
                            x1_part += A1_at3 * y_11_fixed;  // mvt.c:48
                            x2_part[1] += A1_at3 * y_2_at3;  // mvt.c:51
                        }
                    }
                    x1_part_at3 = x1_part;
                }
                if (c_4 <= c_4_last - 4) {
                    x1_part = 0.0;
                    if (n >= t1 + 64 * b1 + 1) {
                        x1_part += A_at4 * y_1_fixed;
                        x2_part[0] += A_at4 * y_2_at4;  // mvt.c:51
                        if (n >= t1 + 64 * b1 + 33) {
                            x1_part += A1_at4 * y_11_fixed;  // mvt.c:48
                            x2_part[1] += A1_at4 * y_2_at4;  // mvt.c:51
                        }
                    }
                    x1_part_at4 = x1_part;
                }
                if (c_4 <= c_4_last - 5) {
                    x1_part = 0.0;
                    if (n >= t1 + 64 * b1 + 1) {
                        x1_part += A_at5 * y_1_fixed;
                        x2_part[0] += A_at5 * y_2_at5;  // mvt.c:51
                        if (n >= t1 + 64 * b1 + 33) {
                            x1_part += A1_at5 * y_11_fixed;  // mvt.c:48
                            x2_part[1] += A1_at5 * y_2_at5;  // mvt.c:51
                        }
                    }
                    x1_part_at5 = x1_part;
                }
                if (c_4 <= c_4_last - 6) {
                    x1_part = 0.0;
                    if (n >= t1 + 64 * b1 + 1) {
                        x1_part += A_at6 * y_1_fixed;
                        x2_part[0] += A_at6 * y_2_at6;  // mvt.c:51
                        if (n >= t1 + 64 * b1 + 33) {
                            x1_part += A1_at6 * y_11_fixed;  // mvt.c:48
                            x2_part[1] += A1_at6 * y_2_at6;  // mvt.c:51
                        }
                    }
                    x1_part_at6 = x1_part;
                }
                if (c_4 <= c_4_last - 7) {
                    x1_part = 0.0;
                    if (n >= t1 + 64 * b1 + 1) {
                        x1_part += A_at7 * y_1_fixed;
                        x2_part[0] += A_at7 * y_2_at7;  // mvt.c:51
                        if (n >= t1 + 64 * b1 + 33) {
                            x1_part += A1_at7 * y_11_fixed;  // mvt.c:48
                            x2_part[1] += A1_at7 * y_2_at7;  // mvt.c:51
                        }
                    }
                    x1_part_at7 = x1_part;
                }
                double x1_sum = polytile_each_sum(x1_part_at0, x1_part_at1, x1_part_at2, x1_part_at3, x1_part_at4,
                        x1_part_at5, x1_part_at6, x1_part_at7);
                if ((t1 % 4 == 0) & (t1 / 4 <= c_4_last - c_4)) {
                    int i = t0 + 8 * (c_4 + t1 / 4);
                    int j_chunk = b1;
                    // 32 neighbouring threads, together: the sum of their x1_part
                    x1_mid[(long long)j_chunk * n + i] = x1_sum;
                }
            }
        }
        if (n >= t1 + 64 * b1 + 1) {
            {
                int i = t1 + 64 * b1;  // mvt.c:51
                int lane = t0;
                x2_part_all[i % 64][lane] = x2_part[0];
            }
            if (n >= t1 + 64 * b1 + 33) {
                int i = t1 + 64 * b1 + 32;  // mvt.c:51
                int lane = t0;
                x2_part_all[i % 64][lane] = x2_part[1];
            }
        }
        __syncthreads();  // mvt.c:51 depends on mvt.c:51 through x2_part_all
        if (t0 == 0 && n >= t1 + 64 * b1 + 1) {
            {
                int i = t1 + 64 * b1;  // mvt.c:51
                int j_chunk_ = b0;
                double x2_sum = 0.0;
                for (int j_lane_ = 0; j_lane_ < 8; ++j_lane_) {
                    x2_sum = x2_sum + x2_part_all[i % 64][j_lane_];
                }
                x2_mid[(long long)j_chunk_ * n + i] = x2_sum;
            }
            if (n >= t1 + 64 * b1 + 33) {
                int i = t1 + 64 * b1 + 32;  // mvt.c:51
                int j_chunk_ = b0;
                double x2_sum = 0.0;
                for (int j_lane_ = 0; j_lane_ < 8; ++j_lane_) {
                    x2_sum = x2_sum + x2_part_all[i % 64][j_lane_];
                }
                x2_mid[(long long)j_chunk_ * n + i] = x2_sum;
            }
        }
        __syncthreads();  // the block's next tile may touch what this one used
    }
}

// mvt.c:48: partial results of x1: before the first chunk
// mvt.c:48: partial results of x1: over all chunks
// mvt.c:48: partial results of x1: over all sums
// mvt.c:48: partial results of x1: over all sums, each thread
// mvt.c:51: partial results of x2: before the first chunk
// mvt.c:51: partial results of x2: over all chunks
// mvt.c:51: partial results of x2: over all sums
// mvt.c:51: partial results of x2: over all sums, each thread
// superposed schedule; blocks: b0 = y, bi = x; 32 x 8 x 1 threads
extern "C" __global__ void __launch_bounds__(256, 2) main_scop0_k1(int n, double *__restrict__ x1,
        double *__restrict__ x2, const double *x1_mid, const double *x2_mid)
{
    const int bi = gridDim.x - 1 - blockIdx.x;
    const int b0 = gridDim.y - 1 - blockIdx.y;
    const int ti = threadIdx.x;
    const int t0 = threadIdx.y;
    __shared__ double x1_sums_all[32][9];
    __shared__ double x2_sums_all[32][9];
    double x1_sums;
    double x2_sums;

    polytile_await_launches();
    if (b0 == 0 && n >= ti + 32 * bi + 1) {
        x1_sums = 0.0;
        {
            int c_4_last = polytile_floord(n - 64 * t0 - 1, 512);
            #pragma unroll 1
            for (int c_4 = 0; c_4 <= c_4_last; c_4 += 16) {
                double x1_mid_at0 = x1_mid[(long long)(t0 + 8 * c_4) * n + ti + 32 * bi];  // mvt.c:48
                double x1_mid_at1 = x1_mid[(long long)(t0 + 8 * polytile_min(c_4 + 1, c_4_last)) * n + ti + 32 * bi];
                double x1_mid_at2 = x1_mid[(long long)(t0 + 8 * polytile_min(c_4 + 2, c_4_last)) * n + ti + 32 * bi];
                double x1_mid_at3 = x1_mid[(long long)(t0 + 8 * polytile_min(c_4 + 3, c_4_last)) * n + ti + 32 * bi];
                double x1_mid_at4 = x1_mid[(long long)(t0 + 8 * polytile_min(c_4 + 4, c_4_last)) * n + ti + 32 * bi];
                double x1_mid_at5 = x1_mid[(long long)(t0 + 8 * polytile_min(c_4 + 5, c_4_last)) * n + ti + 32 * bi];
                double x1_mid_at6 = x1_mid[(long long)(t0 + 8 * polytile_min(c_4 + 6, c_4_last)) * n + ti + 32 * bi];
                double x1_mid_at7 = x1_mid[(long long)(t0 + 8 * polytile_min(c_4 + 7, c_4_last)) * n + ti + 32 * bi];
                double x1_mid_at8 = x1_mid[(long long)(t0 + 8 * polytile_min(c_4 + 8, c_4_last)) * n + ti + 32 * bi];
                double x1_mid_at9 = x1_mid[(long long)(t0 + 8 * polytile_min(c_4 + 9, c_4_last)) * n + ti + 32 * bi];
                double x1_mid_at10 = x1_mid[(long long)(t0 + 8 * polytile_min(c_4 + 10, c_4_last)) * n + ti + 32 * bi];
                double x1_mid_at11 = x1_mid[(long long)(t0 + 8 * polytile_min(c_4 + 11, c_4_last)) * n + ti + 32 * bi];
                double x1_mid_at12 = x1_mid[(long long)(t0 + 8 * polytile_min(c_4 + 12, c_4_last)) * n + ti + 32 * bi];
                double x1_mid_at13 = x1_mid[(long long)(t0 + 8 * polytile_min(c_4 + 13, c_4_last)) * n + ti + 32 * bi];
                double x1_mid_at14 = x1_mid[(long long)(t0 + 8 * polytile_min(c_4 + 14, c_4_last)) * n + ti + 32 * bi];
                double x1_mid_at15 = x1_mid[(long long)(t0 + 8 * polytile_min(c_4 + 15, c_4_last)) * n + ti + 32 * bi];
                x1_sums += x1_mid_at0;
                if (c_4 <= c_4_last - 1) {
                    x1_sums += x1_mid_at1;
                }
                if (c_4 <= c_4_last - 2) {
                    x1_sums += x1_mid_at2;
                }
                if (c_4 <= c_4_last - 3) {
                    x1_sums += x1_mid_at3;
                }
                if (c_4 <= c_4_last - 4) {
                    x1_sums += x1_mid_at4;
                }
                if (c_4 <= c_4_last - 5) {
                    x1_sums += x1_mid_at5;
                }
                if (c_4 <= c_4_last - 6) {
                    x1_sums += x1_mid_at6;
                }
                if (c_4 <= c_4_last - 7) {
                    x1_sums += x1_mid_at7;
                }
                if (c_4 <= c_4_last - 8) {
                    x1_sums += x1_mid_at8;
                }
                if (c_4 <= c_4_last - 9) {
                    x1_sums += x1_mid_at9;
                }
                if (c_4 <= c_4_last - 10) {
                    x1_sums += x1_mid_at10;
                }
                if (c_4 <= c_4_last - 11) {
                    x1_sums += x1_mid_at11;
                }
                if (c_4 <= c_4_last - 12) {
                    x1_sums += x1_mid_at12;
                }
                if (c_4 <= c_4_last - 13) {
                    x1_sums += x1_mid_at13;
                }
                if (c_4 <= c_4_last - 14) {
                    x1_sums += x1_mid_at14;
                }
                if (c_4 <= c_4_last - 15) {
                    x1_sums += x1_mid_at15;
                }
            }
        }
    }
    if (b0 == 0) {
        {
            int i = ti + 32 * bi;  // mvt.c:48
            int lane = t0;
            if (n >= i + 1) {
                x1_sums_all[i % 32][lane] = x1_sums;
            }
        }
        __syncthreads();  // mvt.c:48 depends on mvt.c:48 through x1_sums_all
        {
            int i = ti + 32 * bi;  // mvt.c:48
            double x1_total_sum = 0.0;
            if (t0 == 0 && n >= i + 1) {
                for (int j_adder = 0; j_adder < 8; ++j_adder) {
                    x1_total_sum = x1_total_sum + x1_sums_all[i % 32][j_adder];
                }
                x1[i] += x1_total_sum;
            }
        }
    } else {
        if (n >= ti + 32 * bi + 1) {
            x2_sums = 0.0;
            {
                int c_4_last = polytile_floord(n - 256 * t0 - 1, 2048);
                #pragma unroll 1
                for (int c_4 = 0; c_4 <= c_4_last; c_4 += 16) {
                    double x2_mid_at0 = x2_mid[(long long)(t0 + 8 * c_4) * n + ti + 32 * bi];  // mvt.c:51
                    double x2_mid_at1 = x2_mid[(long long)(t0 + 8 * polytile_min(c_4 + 1, c_4_last)) * n + ti + 32 * bi];
                    double x2_mid_at2 = x2_mid[(long long)(t0 + 8 * polytile_min(c_4 + 2, c_4_last)) * n + ti + 32 * bi];
                    double x2_mid_at3 = x2_mid[(long long)(t0 + 8 * polytile_min(c_4 + 3, c_4_last)) * n + ti + 32 * bi];
                    double x2_mid_at4 = x2_mid[(long long)(t0 + 8 * polytile_min(c_4 + 4, c_4_last)) * n + ti + 32 * bi];
                    double x2_mid_at5 = x2_mid[(long long)(t0 + 8 * polytile_min(c_4 + 5, c_4_last)) * n + ti + 32 * bi];
                    double x2_mid_at6 = x2_mid[(long long)(t0 + 8 * polytile_min(c_4 + 6, c_4_last)) * n + ti + 32 * bi];
                    double x2_mid_at7 = x2_mid[(long long)(t0 + 8 * polytile_min(c_4 + 7, c_4_last)) * n + ti + 32 * bi];
                    double x2_mid_at8 = x2_mid[(long long)(t0 + 8 * polytile_min(c_4 + 8, c_4_last)) * n + ti + 32 * bi];
                    double x2_mid_at9 = x2_mid[(long long)(t0 + 8 * polytile_min(c_4 + 9, c_4_last)) * n + ti + 32 * bi];
                    double x2_mid_at10 = x2_mid[(long long)(t0 + 8 * polytile_min(c_4 + 10, c_4_last)) * n + ti + 32 * bi];
                    double x2_mid_at11 = x2_mid[(long long)(t0 + 8 * polytile_min(c_4 + 11, c_4_last)) * n + ti + 32 * bi];
                    double x2_mid_at12 = x2_mid[(long long)(t0 + 8 * polytile_min(c_4 + 12, c_4_last)) * n + ti + 32 * bi];
                    double x2_mid_at13 = x2_mid[(long long)(t0 + 8 * polytile_min(c_4 + 13, c_4_last)) * n + ti + 32 * bi];
                    double x2_mid_at14 = x2_mid[(long long)(t0 + 8 * polytile_min(c_4 + 14, c_4_last)) * n + ti + 32 * bi];
                    double x2_mid_at15 = x2_mid[(long long)(t0 + 8 * polytile_min(c_4 + 15, c_4_last)) * n + ti + 32 * bi];
                    x2_sums += x2_mid_at0;
                    if (c_4 <= c_4_last - 1) {
                        x2_sums += x2_mid_at1;
                    }
                    if (c_4 <= c_4_last - 2) {
                        x2_sums += x2_mid_at2;
                    }
                    if (c_4 <= c_4_last - 3) {
                        x2_sums += x2_mid_at3;
                    }
                    if (c_4 <= c_4_last - 4) {
                        x2_sums += x2_mid_at4;
                    }
                    if (c_4 <= c_4_last - 5) {
                        x2_sums += x2_mid_at5;
                    }
                    if (c_4 <= c_4_last - 6) {
                        x2_sums += x2_mid_at6;
                    }
                    if (c_4 <= c_4_last - 7) {
                        x2_sums += x2_mid_at7;
                    }
                    if (c_4 <= c_4_last - 8) {
                        x2_sums += x2_mid_at8;
                    }
                    if (c_4 <= c_4_last - 9) {
                        x2_sums += x2_mid_at9;
                    }
                    if (c_4 <= c_4_last - 10) {
                        x2_sums += x2_mid_at10;
                    }
                    if (c_4 <= c_4_last - 11) {
                        x2_sums += x2_mid_at11;
                    }
                    if (c_4 <= c_4_last - 12) {
                        x2_sums += x2_mid_at12;
                    }
                    if (c_4 <= c_4_last - 13) {
                        x2_sums += x2_mid_at13;
                    }
                    if (c_4 <= c_4_last - 14) {
                        x2_sums += x2_mid_at14;
                    }
                    if (c_4 <= c_4_last - 15) {
                        x2_sums += x2_mid_at15;
                    }
                }
            }
        }
        {
            int i = ti + 32 * bi;  // mvt.c:51
            int lane = t0;
            if (n >= i + 1) {
                x2_sums_all[i % 32][lane] = x2_sums;
            }
        }
        __syncthreads();  // mvt.c:51 depends on mvt.c:51 through x2_sums_all
        {
            int i = ti + 32 * bi;  // mvt.c:51
            double x2_total_sum = 0.0;
            if (t0 == 0 && n >= i + 1) {
                for (int j_adder_ = 0; j_adder_ < 8; ++j_adder_) {
                    x2_total_sum = x2_total_sum + x2_sums_all[i % 32][j_adder_];
                }
                x2[i] += x2_total_sum;
            }
        }
    }
}
