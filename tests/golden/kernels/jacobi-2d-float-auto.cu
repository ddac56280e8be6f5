// jacobi-2d.c:22: B[i * n + j] = 0.2f * (A[i * n + j] + A[i * n + j - 1] + A[i * n + j + 1] + A[(i + 1) * n + j]
//     + A[(i - 1) * n + j]);
// jacobi-2d.c:27: A[i * n + j] = 0.2f * (B[i * n + j] + B[i * n + j - 1] + B[i * n + j + 1] + B[(i + 1) * n + j]
//     + B[(i - 1) * n + j]);
// 4 iterations from t0 on, to the second buffers
extern "C" __global__ void __launch_bounds__(128) jacobi_2d_scop0_in(int n, int strips,
        const float *__restrict__ B, const float *__restrict__ A, float *__restrict__ A_shadow)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;

    int warp = block * 4 + thread / 32;
    int lane = thread % 32;
    int strip = warp % strips;
    int first = 1 + warp / strips * 64;
    if (first <= n - 2) {
        int tile_left = strip * 48;
        int left = tile_left + lane * 2;
        bool inside = (tile_left - 1 >= 0) & (n - (tile_left + 63) - 2 >= 0) & (tile_left >= 0) &
                (tile_left + 63 <= n - 1);
        int until = polytile_min(first + 64, n - 2 + 1);
        int begin = polytile_max(first - 8, 0);
        int end = until + 8;
        int low = inside ? polytile_min(polytile_max(polytile_max(polytile_max(begin, 8), 9), -1), end) : end;
        int high = low + polytile_max(polytile_min(polytile_min(polytile_min(end, n - 2 + 2), n - 2 + 3), n - 1) -
                low, 0) / 3 * 3;
        bool own = ((strip == 0) | (lane >= 4)) & ((strip == strips - 1) | (lane < 28));
        float x0[3][4] = {};
        float x1[3][4] = {};
        float x2[3][4] = {};
        float x3[3][4] = {};
        float x4[3][4] = {};
        float x5[3][4] = {};
        float x6[3][4] = {};
        float x7[3][4] = {};
        float x8[1][2] = {};
        float next0[2];
        const float *__restrict__ from0 = &A[(long long)begin * n + left];
        float *to8 = &A_shadow[(long long)first * n + left];
        bool wide = polytile_aligned<8>(&A[0], &A_shadow[0]) & (n % 2 == 0);
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
            next0[v] = (begin >= 0) & (begin <= n - 1) & (left + v >= 0) & (left + v <= n - 1) ? from0[v] : 0.0f;
        }
        int start = begin;
        #pragma unroll 1
        for (int half = 0; half < 2; ++half) {
            bool columns_S0[2];
            #pragma unroll
            for (int v = 0; v < 2; ++v) {
                columns_S0[v] = (left + v >= 1) & (left + v <= n - 2);
            }
            bool columns_S1[2];
            #pragma unroll
            for (int v = 0; v < 2; ++v) {
                columns_S1[v] = (left + v >= 1) & (left + v <= n - 2);
            }
            #pragma unroll 1
            for (int row = start; row < low; ++row) {
                #pragma unroll
                for (int v = 0; v < 2; ++v) {
                    x0[0][v + 1] = next0[v];
                }
                from0 += n;
                #pragma unroll
                for (int v = 0; v < 2; ++v) {
                    next0[v] = (row + 1 >= 0) & (row + 1 <= n - 1) & (left + v >= 0) & (left + v <= n - 1) ? from0[v] : 0.0f;
                }
                // step 1: B after iteration t0, row - 1
                x0[1][0] = __shfl_up_sync(0xffffffffu, x0[1][2], 1, 32);
                x0[1][3] = __shfl_down_sync(0xffffffffu, x0[1][1], 1, 32);
                {
                    bool made = (row - 1 >= 1) & (row - 1 <= n - 2);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x1[0][v + 1] = 0.2f * (x0[1][v + 1] + x0[1][v - 1 + 1] + x0[1][v + 1 + 1] + x0[0][v + 1] + x0[2][v + 1]);  // jacobi-2d.c:22
                        if (!(made & columns_S0[v])) {
                            x1[0][v + 1] = (row - 1 >= 0) & (row - 1 <= n - 1) & (left + v >= 0) & (left + v <= n - 1) ?
                                    B[(long long)(row - 1) * n + left + v] : 0.0f;
                        }
                    }
                }
                // step 2: A after iteration t0, row - 2
                x1[1][0] = __shfl_up_sync(0xffffffffu, x1[1][2], 1, 32);
                x1[1][3] = __shfl_down_sync(0xffffffffu, x1[1][1], 1, 32);
                {
                    bool made = (row - 2 >= 1) & (row - 2 <= n - 2);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x2[0][v + 1] = 0.2f * (x1[1][v + 1] + x1[1][v - 1 + 1] + x1[1][v + 1 + 1] + x1[0][v + 1] + x1[2][v + 1]);  // jacobi-2d.c:27
                        if (!(made & columns_S1[v])) {
                            x2[0][v + 1] = x0[2][v + 1];
                        }
                    }
                }
                // step 3: B after iteration t0 + 1, row - 3
                x2[1][0] = __shfl_up_sync(0xffffffffu, x2[1][2], 1, 32);
                x2[1][3] = __shfl_down_sync(0xffffffffu, x2[1][1], 1, 32);
                {
                    bool made = (row - 3 >= 1) & (row - 3 <= n - 2);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x3[0][v + 1] = 0.2f * (x2[1][v + 1] + x2[1][v - 1 + 1] + x2[1][v + 1 + 1] + x2[0][v + 1] + x2[2][v + 1]);  // jacobi-2d.c:22
                        if (!(made & columns_S0[v])) {
                            x3[0][v + 1] = x1[2][v + 1];
                        }
                    }
                }
                // step 4: A after iteration t0 + 1, row - 4
                x3[1][0] = __shfl_up_sync(0xffffffffu, x3[1][2], 1, 32);
                x3[1][3] = __shfl_down_sync(0xffffffffu, x3[1][1], 1, 32);
                {
                    bool made = (row - 4 >= 1) & (row - 4 <= n - 2);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x4[0][v + 1] = 0.2f * (x3[1][v + 1] + x3[1][v - 1 + 1] + x3[1][v + 1 + 1] + x3[0][v + 1] + x3[2][v + 1]);  // jacobi-2d.c:27
                        if (!(made & columns_S1[v])) {
                            x4[0][v + 1] = x2[2][v + 1];
                        }
                    }
                }
                // step 5: B after iteration t0 + 2, row - 5
                x4[1][0] = __shfl_up_sync(0xffffffffu, x4[1][2], 1, 32);
                x4[1][3] = __shfl_down_sync(0xffffffffu, x4[1][1], 1, 32);
                {
                    bool made = (row - 5 >= 1) & (row - 5 <= n - 2);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x5[0][v + 1] = 0.2f * (x4[1][v + 1] + x4[1][v - 1 + 1] + x4[1][v + 1 + 1] + x4[0][v + 1] + x4[2][v + 1]);  // jacobi-2d.c:22
                        if (!(made & columns_S0[v])) {
                            x5[0][v + 1] = x3[2][v + 1];
                        }
                    }
                }
                // step 6: A after iteration t0 + 2, row - 6
                x5[1][0] = __shfl_up_sync(0xffffffffu, x5[1][2], 1, 32);
                x5[1][3] = __shfl_down_sync(0xffffffffu, x5[1][1], 1, 32);
                {
                    bool made = (row - 6 >= 1) & (row - 6 <= n - 2);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x6[0][v + 1] = 0.2f * (x5[1][v + 1] + x5[1][v - 1 + 1] + x5[1][v + 1 + 1] + x5[0][v + 1] + x5[2][v + 1]);  // jacobi-2d.c:27
                        if (!(made & columns_S1[v])) {
                            x6[0][v + 1] = x4[2][v + 1];
                        }
                    }
                }
                // step 7: B after iteration t0 + 3, row - 7
                x6[1][0] = __shfl_up_sync(0xffffffffu, x6[1][2], 1, 32);
                x6[1][3] = __shfl_down_sync(0xffffffffu, x6[1][1], 1, 32);
                {
                    bool made = (row - 7 >= 1) & (row - 7 <= n - 2);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x7[0][v + 1] = 0.2f * (x6[1][v + 1] + x6[1][v - 1 + 1] + x6[1][v + 1 + 1] + x6[0][v + 1] + x6[2][v + 1]);  // jacobi-2d.c:22
                        if (!(made & columns_S0[v])) {
                            x7[0][v + 1] = x5[2][v + 1];
                        }
                    }
                }
                // step 8: A after iteration t0 + 3, row - 8
                x7[1][0] = __shfl_up_sync(0xffffffffu, x7[1][2], 1, 32);
                x7[1][3] = __shfl_down_sync(0xffffffffu, x7[1][1], 1, 32);
                {
                    bool made = (row - 8 >= 1) & (row - 8 <= n - 2);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x8[0][v] = 0.2f * (x7[1][v + 1] + x7[1][v - 1 + 1] + x7[1][v + 1 + 1] + x7[0][v + 1] + x7[2][v + 1]);  // jacobi-2d.c:27
                        if (!(made & columns_S1[v])) {
                            x8[0][v] = x6[2][v + 1];
                        }
                    }
                }
                if (row - 8 >= first) {
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        if (own & ((left + v >= 1) & (left + v <= n - 2) & (row - 8 >= 1) & (row - 8 <= n - 2))) to8[v] = x8[0][v];
                    }
                    to8 += n;
                }
                #pragma unroll
                for (int v = 0; v < 2; ++v) {
                    x0[2][v + 1] = x0[1][v + 1];
                    x0[1][v + 1] = x0[0][v + 1];
                    x1[2][v + 1] = x1[1][v + 1];
                    x1[1][v + 1] = x1[0][v + 1];
                    x2[2][v + 1] = x2[1][v + 1];
                    x2[1][v + 1] = x2[0][v + 1];
                    x3[2][v + 1] = x3[1][v + 1];
                    x3[1][v + 1] = x3[0][v + 1];
                    x4[2][v + 1] = x4[1][v + 1];
                    x4[1][v + 1] = x4[0][v + 1];
                    x5[2][v + 1] = x5[1][v + 1];
                    x5[1][v + 1] = x5[0][v + 1];
                    x6[2][v + 1] = x6[1][v + 1];
                    x6[1][v + 1] = x6[0][v + 1];
                    x7[2][v + 1] = x7[1][v + 1];
                    x7[1][v + 1] = x7[0][v + 1];
                }
            }
            #pragma unroll 1
            for (int group = polytile_max(start, low); group < high; group += 3) {
                #pragma unroll
                for (int turn = 0; turn < 3; ++turn) {
                    int row = group + turn;
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x0[0][v + 1] = next0[v];
                    }
                    from0 += n;
                    if (wide) {
                        #pragma unroll
                        for (int v = 0; v < 2; v += 2) {
                            const float2 v0 = *(const float2 *)&from0[v];
                            next0[v] = v0.x; next0[v + 1] = v0.y;
                        }
                    } else {
                        #pragma unroll
                        for (int v = 0; v < 2; ++v) {
                            next0[v] = from0[v];
                        }
                    }
                    // step 1: B after iteration t0, row - 1
                    x0[1][0] = __shfl_up_sync(0xffffffffu, x0[1][2], 1, 32);
                    x0[1][3] = __shfl_down_sync(0xffffffffu, x0[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x1[0][v + 1] = 0.2f * (x0[1][v + 1] + x0[1][v - 1 + 1] + x0[1][v + 1 + 1] + x0[0][v + 1] + x0[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 2: A after iteration t0, row - 2
                    x1[1][0] = __shfl_up_sync(0xffffffffu, x1[1][2], 1, 32);
                    x1[1][3] = __shfl_down_sync(0xffffffffu, x1[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x2[0][v + 1] = 0.2f * (x1[1][v + 1] + x1[1][v - 1 + 1] + x1[1][v + 1 + 1] + x1[0][v + 1] + x1[2][v + 1]);  // jacobi-2d.c:27
                    }
                    // step 3: B after iteration t0 + 1, row - 3
                    x2[1][0] = __shfl_up_sync(0xffffffffu, x2[1][2], 1, 32);
                    x2[1][3] = __shfl_down_sync(0xffffffffu, x2[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x3[0][v + 1] = 0.2f * (x2[1][v + 1] + x2[1][v - 1 + 1] + x2[1][v + 1 + 1] + x2[0][v + 1] + x2[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 4: A after iteration t0 + 1, row - 4
                    x3[1][0] = __shfl_up_sync(0xffffffffu, x3[1][2], 1, 32);
                    x3[1][3] = __shfl_down_sync(0xffffffffu, x3[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x4[0][v + 1] = 0.2f * (x3[1][v + 1] + x3[1][v - 1 + 1] + x3[1][v + 1 + 1] + x3[0][v + 1] + x3[2][v + 1]);  // jacobi-2d.c:27
                    }
                    // step 5: B after iteration t0 + 2, row - 5
                    x4[1][0] = __shfl_up_sync(0xffffffffu, x4[1][2], 1, 32);
                    x4[1][3] = __shfl_down_sync(0xffffffffu, x4[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x5[0][v + 1] = 0.2f * (x4[1][v + 1] + x4[1][v - 1 + 1] + x4[1][v + 1 + 1] + x4[0][v + 1] + x4[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 6: A after iteration t0 + 2, row - 6
                    x5[1][0] = __shfl_up_sync(0xffffffffu, x5[1][2], 1, 32);
                    x5[1][3] = __shfl_down_sync(0xffffffffu, x5[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x6[0][v + 1] = 0.2f * (x5[1][v + 1] + x5[1][v - 1 + 1] + x5[1][v + 1 + 1] + x5[0][v + 1] + x5[2][v + 1]);  // jacobi-2d.c:27
                    }
                    // step 7: B after iteration t0 + 3, row - 7
                    x6[1][0] = __shfl_up_sync(0xffffffffu, x6[1][2], 1, 32);
                    x6[1][3] = __shfl_down_sync(0xffffffffu, x6[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x7[0][v + 1] = 0.2f * (x6[1][v + 1] + x6[1][v - 1 + 1] + x6[1][v + 1 + 1] + x6[0][v + 1] + x6[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 8: A after iteration t0 + 3, row - 8
                    x7[1][0] = __shfl_up_sync(0xffffffffu, x7[1][2], 1, 32);
                    x7[1][3] = __shfl_down_sync(0xffffffffu, x7[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x8[0][v] = 0.2f * (x7[1][v + 1] + x7[1][v - 1 + 1] + x7[1][v + 1 + 1] + x7[0][v + 1] + x7[2][v + 1]);  // jacobi-2d.c:27
                    }
                    if (row - 8 >= first) {
                        if (wide) {
                            #pragma unroll
                            for (int v = 0; v < 2; v += 2) {
                                if (own) *(float2 *)&to8[v] = make_float2(x8[0][v], x8[0][v + 1]);
                            }
                        } else {
                            #pragma unroll
                            for (int v = 0; v < 2; ++v) {
                                if (own) to8[v] = x8[0][v];
                            }
                        }
                        to8 += n;
                    }
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x0[2][v + 1] = x0[1][v + 1];
                        x0[1][v + 1] = x0[0][v + 1];
                        x1[2][v + 1] = x1[1][v + 1];
                        x1[1][v + 1] = x1[0][v + 1];
                        x2[2][v + 1] = x2[1][v + 1];
                        x2[1][v + 1] = x2[0][v + 1];
                        x3[2][v + 1] = x3[1][v + 1];
                        x3[1][v + 1] = x3[0][v + 1];
                        x4[2][v + 1] = x4[1][v + 1];
                        x4[1][v + 1] = x4[0][v + 1];
                        x5[2][v + 1] = x5[1][v + 1];
                        x5[1][v + 1] = x5[0][v + 1];
                        x6[2][v + 1] = x6[1][v + 1];
                        x6[1][v + 1] = x6[0][v + 1];
                        x7[2][v + 1] = x7[1][v + 1];
                        x7[1][v + 1] = x7[0][v + 1];
                    }
                }
            }
            start = polytile_max(start, high);
            low = end;
            high = end;
        }
    }
}

// jacobi-2d.c:22: B[i * n + j] = 0.2f * (A[i * n + j] + A[i * n + j - 1] + A[i * n + j + 1] + A[(i + 1) * n + j]
//     + A[(i - 1) * n + j]);
// jacobi-2d.c:27: A[i * n + j] = 0.2f * (B[i * n + j] + B[i * n + j - 1] + B[i * n + j + 1] + B[(i + 1) * n + j]
//     + B[(i - 1) * n + j]);
// 4 iterations from t1 on, from the second buffers
extern "C" __global__ void __launch_bounds__(128) jacobi_2d_scop0_out(int n, int strips, int is_last,
        float *__restrict__ B, float *__restrict__ A, const float *__restrict__ A_shadow)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;

    int warp = block * 4 + thread / 32;
    int lane = thread % 32;
    int strip = warp % strips;
    int first = 1 + warp / strips * 64;
    if (first <= n - 2) {
        int tile_left = strip * 48;
        int left = tile_left + lane * 2;
        bool inside = (tile_left - 1 >= 0) & (n - (tile_left + 63) - 2 >= 0) & (tile_left >= 0) &
                (tile_left + 63 <= n - 1);
        int until = polytile_min(first + 64, n - 2 + 1);
        int begin = polytile_max(first - 8, 0);
        int end = until + 8;
        int low = inside ? polytile_min(polytile_max(polytile_max(polytile_max(begin, 8), 9), -1), end) : end;
        int high = low + polytile_max(polytile_min(polytile_min(polytile_min(end, n - 2 + 2), n - 2), n - 1) - low,
                0) / 3 * 3;
        bool own = ((strip == 0) | (lane >= 4)) & ((strip == strips - 1) | (lane < 28));
        float x0[3][4] = {};
        float x1[3][4] = {};
        float x2[3][4] = {};
        float x3[3][4] = {};
        float x4[3][4] = {};
        float x5[3][4] = {};
        float x6[3][4] = {};
        float x7[3][4] = {};
        float x8[1][2] = {};
        float next0[2];
        const float *__restrict__ from0 = &A_shadow[(long long)begin * n + left];
        float *to7 = &B[(long long)first * n + left];
        float *to8 = &A[(long long)first * n + left];
        bool wide = polytile_aligned<8>(&A_shadow[0], &B[0], &A[0]) & (n % 2 == 0);
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
            if ((left + v >= 1) & (left + v <= n - 2) & (begin >= 1) & (begin <= n - 2)) {
                next0[v] = from0[v];
            } else {
                next0[v] = (begin >= 0) & (begin <= n - 1) & (left + v >= 0) & (left + v <= n - 1) ?
                        A[(long long)begin * n + left + v] : 0.0f;
            }
        }
        int start = begin;
        #pragma unroll 1
        for (int half = 0; half < 2; ++half) {
            bool columns_S0[2];
            #pragma unroll
            for (int v = 0; v < 2; ++v) {
                columns_S0[v] = (left + v >= 1) & (left + v <= n - 2);
            }
            bool columns_S1[2];
            #pragma unroll
            for (int v = 0; v < 2; ++v) {
                columns_S1[v] = (left + v >= 1) & (left + v <= n - 2);
            }
            #pragma unroll 1
            for (int row = start; row < low; ++row) {
                #pragma unroll
                for (int v = 0; v < 2; ++v) {
                    x0[0][v + 1] = next0[v];
                }
                from0 += n;
                #pragma unroll
                for (int v = 0; v < 2; ++v) {
                    if ((left + v >= 1) & (left + v <= n - 2) & (row + 1 >= 1) & (row + 1 <= n - 2)) {
                        next0[v] = from0[v];
                    } else {
                        next0[v] = (row + 1 >= 0) & (row + 1 <= n - 1) & (left + v >= 0) & (left + v <= n - 1) ?
                                A[(long long)(row + 1) * n + left + v] : 0.0f;
                    }
                }
                // step 1: B after iteration t1, row - 1
                x0[1][0] = __shfl_up_sync(0xffffffffu, x0[1][2], 1, 32);
                x0[1][3] = __shfl_down_sync(0xffffffffu, x0[1][1], 1, 32);
                {
                    bool made = (row - 1 >= 1) & (row - 1 <= n - 2);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x1[0][v + 1] = 0.2f * (x0[1][v + 1] + x0[1][v - 1 + 1] + x0[1][v + 1 + 1] + x0[0][v + 1] + x0[2][v + 1]);  // jacobi-2d.c:22
                        if (!(made & columns_S0[v])) {
                            x1[0][v + 1] = (row - 1 >= 0) & (row - 1 <= n - 1) & (left + v >= 0) & (left + v <= n - 1) ?
                                    B[(long long)(row - 1) * n + left + v] : 0.0f;
                        }
                    }
                }
                // step 2: A after iteration t1, row - 2
                x1[1][0] = __shfl_up_sync(0xffffffffu, x1[1][2], 1, 32);
                x1[1][3] = __shfl_down_sync(0xffffffffu, x1[1][1], 1, 32);
                {
                    bool made = (row - 2 >= 1) & (row - 2 <= n - 2);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x2[0][v + 1] = 0.2f * (x1[1][v + 1] + x1[1][v - 1 + 1] + x1[1][v + 1 + 1] + x1[0][v + 1] + x1[2][v + 1]);  // jacobi-2d.c:27
                        if (!(made & columns_S1[v])) {
                            x2[0][v + 1] = x0[2][v + 1];
                        }
                    }
                }
                // step 3: B after iteration t1 + 1, row - 3
                x2[1][0] = __shfl_up_sync(0xffffffffu, x2[1][2], 1, 32);
                x2[1][3] = __shfl_down_sync(0xffffffffu, x2[1][1], 1, 32);
                {
                    bool made = (row - 3 >= 1) & (row - 3 <= n - 2);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x3[0][v + 1] = 0.2f * (x2[1][v + 1] + x2[1][v - 1 + 1] + x2[1][v + 1 + 1] + x2[0][v + 1] + x2[2][v + 1]);  // jacobi-2d.c:22
                        if (!(made & columns_S0[v])) {
                            x3[0][v + 1] = x1[2][v + 1];
                        }
                    }
                }
                // step 4: A after iteration t1 + 1, row - 4
                x3[1][0] = __shfl_up_sync(0xffffffffu, x3[1][2], 1, 32);
                x3[1][3] = __shfl_down_sync(0xffffffffu, x3[1][1], 1, 32);
                {
                    bool made = (row - 4 >= 1) & (row - 4 <= n - 2);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x4[0][v + 1] = 0.2f * (x3[1][v + 1] + x3[1][v - 1 + 1] + x3[1][v + 1 + 1] + x3[0][v + 1] + x3[2][v + 1]);  // jacobi-2d.c:27
                        if (!(made & columns_S1[v])) {
                            x4[0][v + 1] = x2[2][v + 1];
                        }
                    }
                }
                // step 5: B after iteration t1 + 2, row - 5
                x4[1][0] = __shfl_up_sync(0xffffffffu, x4[1][2], 1, 32);
                x4[1][3] = __shfl_down_sync(0xffffffffu, x4[1][1], 1, 32);
                {
                    bool made = (row - 5 >= 1) & (row - 5 <= n - 2);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x5[0][v + 1] = 0.2f * (x4[1][v + 1] + x4[1][v - 1 + 1] + x4[1][v + 1 + 1] + x4[0][v + 1] + x4[2][v + 1]);  // jacobi-2d.c:22
                        if (!(made & columns_S0[v])) {
                            x5[0][v + 1] = x3[2][v + 1];
                        }
                    }
                }
                // step 6: A after iteration t1 + 2, row - 6
                x5[1][0] = __shfl_up_sync(0xffffffffu, x5[1][2], 1, 32);
                x5[1][3] = __shfl_down_sync(0xffffffffu, x5[1][1], 1, 32);
                {
                    bool made = (row - 6 >= 1) & (row - 6 <= n - 2);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x6[0][v + 1] = 0.2f * (x5[1][v + 1] + x5[1][v - 1 + 1] + x5[1][v + 1 + 1] + x5[0][v + 1] + x5[2][v + 1]);  // jacobi-2d.c:27
                        if (!(made & columns_S1[v])) {
                            x6[0][v + 1] = x4[2][v + 1];
                        }
                    }
                }
                // step 7: B after iteration t1 + 3, row - 7
                x6[1][0] = __shfl_up_sync(0xffffffffu, x6[1][2], 1, 32);
                x6[1][3] = __shfl_down_sync(0xffffffffu, x6[1][1], 1, 32);
                {
                    bool made = (row - 7 >= 1) & (row - 7 <= n - 2);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x7[0][v + 1] = 0.2f * (x6[1][v + 1] + x6[1][v - 1 + 1] + x6[1][v + 1 + 1] + x6[0][v + 1] + x6[2][v + 1]);  // jacobi-2d.c:22
                        if (!(made & columns_S0[v])) {
                            x7[0][v + 1] = x5[2][v + 1];
                        }
                    }
                }
                if ((row - 7 >= first) & (row - 7 < until) & is_last) {
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        if (own & ((left + v >= 1) & (left + v <= n - 2) & (row - 7 >= 1) & (row - 7 <= n - 2))) to7[v] =
                                x7[0][v + 1];
                    }
                    to7 += n;
                }
                // step 8: A after iteration t1 + 3, row - 8
                x7[1][0] = __shfl_up_sync(0xffffffffu, x7[1][2], 1, 32);
                x7[1][3] = __shfl_down_sync(0xffffffffu, x7[1][1], 1, 32);
                {
                    bool made = (row - 8 >= 1) & (row - 8 <= n - 2);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x8[0][v] = 0.2f * (x7[1][v + 1] + x7[1][v - 1 + 1] + x7[1][v + 1 + 1] + x7[0][v + 1] + x7[2][v + 1]);  // jacobi-2d.c:27
                        if (!(made & columns_S1[v])) {
                            x8[0][v] = x6[2][v + 1];
                        }
                    }
                }
                if (row - 8 >= first) {
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        if (own & ((left + v >= 1) & (left + v <= n - 2) & (row - 8 >= 1) & (row - 8 <= n - 2))) to8[v] = x8[0][v];
                    }
                    to8 += n;
                }
                #pragma unroll
                for (int v = 0; v < 2; ++v) {
                    x0[2][v + 1] = x0[1][v + 1];
                    x0[1][v + 1] = x0[0][v + 1];
                    x1[2][v + 1] = x1[1][v + 1];
                    x1[1][v + 1] = x1[0][v + 1];
                    x2[2][v + 1] = x2[1][v + 1];
                    x2[1][v + 1] = x2[0][v + 1];
                    x3[2][v + 1] = x3[1][v + 1];
                    x3[1][v + 1] = x3[0][v + 1];
                    x4[2][v + 1] = x4[1][v + 1];
                    x4[1][v + 1] = x4[0][v + 1];
                    x5[2][v + 1] = x5[1][v + 1];
                    x5[1][v + 1] = x5[0][v + 1];
                    x6[2][v + 1] = x6[1][v + 1];
                    x6[1][v + 1] = x6[0][v + 1];
                    x7[2][v + 1] = x7[1][v + 1];
                    x7[1][v + 1] = x7[0][v + 1];
                }
            }
            #pragma unroll 1
            for (int group = polytile_max(start, low); group < high; group += 3) {
                #pragma unroll
                for (int turn = 0; turn < 3; ++turn) {
                    int row = group + turn;
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x0[0][v + 1] = next0[v];
                    }
                    from0 += n;
                    if (wide) {
                        #pragma unroll
                        for (int v = 0; v < 2; v += 2) {
                            const float2 v0 = *(const float2 *)&from0[v];
                            next0[v] = v0.x; next0[v + 1] = v0.y;
                        }
                    } else {
                        #pragma unroll
                        for (int v = 0; v < 2; ++v) {
                            next0[v] = from0[v];
                        }
                    }
                    // step 1: B after iteration t1, row - 1
                    x0[1][0] = __shfl_up_sync(0xffffffffu, x0[1][2], 1, 32);
                    x0[1][3] = __shfl_down_sync(0xffffffffu, x0[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x1[0][v + 1] = 0.2f * (x0[1][v + 1] + x0[1][v - 1 + 1] + x0[1][v + 1 + 1] + x0[0][v + 1] + x0[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 2: A after iteration t1, row - 2
                    x1[1][0] = __shfl_up_sync(0xffffffffu, x1[1][2], 1, 32);
                    x1[1][3] = __shfl_down_sync(0xffffffffu, x1[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x2[0][v + 1] = 0.2f * (x1[1][v + 1] + x1[1][v - 1 + 1] + x1[1][v + 1 + 1] + x1[0][v + 1] + x1[2][v + 1]);  // jacobi-2d.c:27
                    }
                    // step 3: B after iteration t1 + 1, row - 3
                    x2[1][0] = __shfl_up_sync(0xffffffffu, x2[1][2], 1, 32);
                    x2[1][3] = __shfl_down_sync(0xffffffffu, x2[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x3[0][v + 1] = 0.2f * (x2[1][v + 1] + x2[1][v - 1 + 1] + x2[1][v + 1 + 1] + x2[0][v + 1] + x2[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 4: A after iteration t1 + 1, row - 4
                    x3[1][0] = __shfl_up_sync(0xffffffffu, x3[1][2], 1, 32);
                    x3[1][3] = __shfl_down_sync(0xffffffffu, x3[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x4[0][v + 1] = 0.2f * (x3[1][v + 1] + x3[1][v - 1 + 1] + x3[1][v + 1 + 1] + x3[0][v + 1] + x3[2][v + 1]);  // jacobi-2d.c:27
                    }
                    // step 5: B after iteration t1 + 2, row - 5
                    x4[1][0] = __shfl_up_sync(0xffffffffu, x4[1][2], 1, 32);
                    x4[1][3] = __shfl_down_sync(0xffffffffu, x4[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x5[0][v + 1] = 0.2f * (x4[1][v + 1] + x4[1][v - 1 + 1] + x4[1][v + 1 + 1] + x4[0][v + 1] + x4[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 6: A after iteration t1 + 2, row - 6
                    x5[1][0] = __shfl_up_sync(0xffffffffu, x5[1][2], 1, 32);
                    x5[1][3] = __shfl_down_sync(0xffffffffu, x5[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x6[0][v + 1] = 0.2f * (x5[1][v + 1] + x5[1][v - 1 + 1] + x5[1][v + 1 + 1] + x5[0][v + 1] + x5[2][v + 1]);  // jacobi-2d.c:27
                    }
                    // step 7: B after iteration t1 + 3, row - 7
                    x6[1][0] = __shfl_up_sync(0xffffffffu, x6[1][2], 1, 32);
                    x6[1][3] = __shfl_down_sync(0xffffffffu, x6[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x7[0][v + 1] = 0.2f * (x6[1][v + 1] + x6[1][v - 1 + 1] + x6[1][v + 1 + 1] + x6[0][v + 1] + x6[2][v + 1]);  // jacobi-2d.c:22
                    }
                    if ((row - 7 >= first) & (row - 7 < until) & is_last) {
                        if (wide) {
                            #pragma unroll
                            for (int v = 0; v < 2; v += 2) {
                                if (own) *(float2 *)&to7[v] = make_float2(x7[0][v + 1], x7[0][v + 1 + 1]);
                            }
                        } else {
                            #pragma unroll
                            for (int v = 0; v < 2; ++v) {
                                if (own) to7[v] = x7[0][v + 1];
                            }
                        }
                        to7 += n;
                    }
                    // step 8: A after iteration t1 + 3, row - 8
                    x7[1][0] = __shfl_up_sync(0xffffffffu, x7[1][2], 1, 32);
                    x7[1][3] = __shfl_down_sync(0xffffffffu, x7[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x8[0][v] = 0.2f * (x7[1][v + 1] + x7[1][v - 1 + 1] + x7[1][v + 1 + 1] + x7[0][v + 1] + x7[2][v + 1]);  // jacobi-2d.c:27
                    }
                    if (row - 8 >= first) {
                        if (wide) {
                            #pragma unroll
                            for (int v = 0; v < 2; v += 2) {
                                if (own) *(float2 *)&to8[v] = make_float2(x8[0][v], x8[0][v + 1]);
                            }
                        } else {
                            #pragma unroll
                            for (int v = 0; v < 2; ++v) {
                                if (own) to8[v] = x8[0][v];
                            }
                        }
                        to8 += n;
                    }
                    #pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        x0[2][v + 1] = x0[1][v + 1];
                        x0[1][v + 1] = x0[0][v + 1];
                        x1[2][v + 1] = x1[1][v + 1];
                        x1[1][v + 1] = x1[0][v + 1];
                        x2[2][v + 1] = x2[1][v + 1];
                        x2[1][v + 1] = x2[0][v + 1];
                        x3[2][v + 1] = x3[1][v + 1];
                        x3[1][v + 1] = x3[0][v + 1];
                        x4[2][v + 1] = x4[1][v + 1];
                        x4[1][v + 1] = x4[0][v + 1];
                        x5[2][v + 1] = x5[1][v + 1];
                        x5[1][v + 1] = x5[0][v + 1];
                        x6[2][v + 1] = x6[1][v + 1];
                        x6[1][v + 1] = x6[0][v + 1];
                        x7[2][v + 1] = x7[1][v + 1];
                        x7[1][v + 1] = x7[0][v + 1];
                    }
                }
            }
            start = polytile_max(start, high);
            low = end;
            high = end;
        }
    }
}

// jacobi-2d.c:22: B[i * n + j] = 0.2f * (A[i * n + j] + A[i * n + j - 1] + A[i * n + j + 1] + A[(i + 1) * n + j]
//     + A[(i - 1) * n + j]);
// overlapped schedule; blocks: bi = y, bj = x; 32 x 8 x 1 threads
extern "C" __global__ void __launch_bounds__(256) jacobi_2d_scop0_k0(int n, float *__restrict__ B,
        const float *A)
{
    const int bj = blockIdx.x;
    const int tj = threadIdx.x;
    const int ti = threadIdx.y;

    polytile_await_launches();
    for (int bi = blockIdx.y; bi <= (n - 2) / 8; bi += gridDim.y) {
        int i = ti + 8 * bi;  // jacobi-2d.c:22
        int j = tj + 32 * bj;
        if (n >= i + 2 && i >= 1 && n >= j + 2 && j >= 1) {
            B[(long long)i * n + j] = 0.2f * (A[(long long)i * n + j] + A[(long long)i * n + j - 1] +
                    A[(long long)i * n + j + 1] + A[(long long)(i + 1) * n + j] + A[(long long)(i - 1) * n + j]);
        }
    }
}

// jacobi-2d.c:27: A[i * n + j] = 0.2f * (B[i * n + j] + B[i * n + j - 1] + B[i * n + j + 1] + B[(i + 1) * n + j]
//     + B[(i - 1) * n + j]);
// overlapped schedule; blocks: bi = y, bj = x; 32 x 8 x 1 threads
extern "C" __global__ void __launch_bounds__(256) jacobi_2d_scop0_k1(int n, const float *B,
        float *__restrict__ A)
{
    const int bj = gridDim.x - 1 - blockIdx.x;
    const int tj = threadIdx.x;
    const int ti = threadIdx.y;

    polytile_await_launches();
    for (int bi = gridDim.y - 1 - blockIdx.y; bi <= (n - 2) / 8; bi += gridDim.y) {
        int i = ti + 8 * bi;  // jacobi-2d.c:27
        int j = tj + 32 * bj;
        if (n >= i + 2 && i >= 1 && n >= j + 2 && j >= 1) {
            A[(long long)i * n + j] = 0.2f * (B[(long long)i * n + j] + B[(long long)i * n + j - 1] +
                    B[(long long)i * n + j + 1] + B[(long long)(i + 1) * n + j] + B[(long long)(i - 1) * n + j]);
        }
    }
}
