// jacobi-2d.c:22: B[i * n + j] = 0.2f * (A[i * n + j] + A[i * n + j - 1] + A[i * n + j + 1] + A[(i + 1) * n + j]
//     + A[(i - 1) * n + j]);
// jacobi-2d.c:27: A[i * n + j] = 0.2f * (B[i * n + j] + B[i * n + j - 1] + B[i * n + j + 1] + B[(i + 1) * n + j]
//     + B[(i - 1) * n + j]);
// 3 iterations from t0 on, to the second buffers
extern "C" __global__ void __launch_bounds__(128) jacobi_2d_scop0_in(int n, int strips, int chunk,
        const float *__restrict__ B, const float *__restrict__ A, float *__restrict__ A_shadow)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;

    int warp = block * 4 + __shfl_sync(0xffffffffu, thread / 32, 0, 32);
    int lane = thread % 32;
    int chunks = (n - 2 - 1 + 1 + chunk - 1) / chunk;
    if (warp < strips * chunks) {
        int strip = warp < chunks * 2 ? (warp < chunks ? 0 : strips - 1) :
                (warp - chunks * 2) % polytile_max(strips - 2, 1) + 1;
        int first = 1 + (warp < chunks * 2 ? warp % chunks : (warp - chunks * 2) / polytile_max(strips - 2, 1)) *
                chunk;
        int tile_left = polytile_min(strip * 112, polytile_max(polytile_min((n - 2 + 2 - 128 + 3) & -4, n - 1 + 1 -
                128), 0));
        int left = tile_left + lane * 4;
        bool within = (tile_left >= 0) & (tile_left + 127 <= n - 1);
        bool regular = within;
        bool inside = regular & (tile_left - 1 >= 0) & (n - (tile_left + 127) - 2 >= 0);
        int until = polytile_min(first + chunk, n - 2 + 1);
        int begin = polytile_max(first - 6, 0);
        int end = until + 6;
        int low = inside ? polytile_min(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(begin, 6), 7), -1), 0), 1), 2), 3), 4), 5), end) : end;
        int high = low + polytile_max(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(end, n - 2 + 2), n - 2 + 3), n - 1), n - 1 + 1), n - 1 + 2), n - 1 + 3), n - 1 + 4), n - 1 + 5), n - 1 + 6) - low, 0) / 3 * 3;
        unsigned int columns_S0 = 0u;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            columns_S0 |= (unsigned int)((left + v >= 1) & (left + v <= n - 2)) << v;
        }
        unsigned int cells_S0 = 0u;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            cells_S0 |= (unsigned int)((columns_S0 >> v) & 1) << v;
        }
        unsigned int columns_S1 = 0u;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            columns_S1 |= (unsigned int)((left + v >= 1) & (left + v <= n - 2)) << v;
        }
        unsigned int cells_S1 = 0u;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            cells_S1 |= (unsigned int)((columns_S1 >> v) & 1) << v;
        }
        unsigned int there = 0u;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            there |= (unsigned int)((left + v >= 0) & (left + v <= n - 1)) << v;
        }
        unsigned int own = 0u;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            own |= (unsigned int)(((strip == 0) | (left + v >= strip * 112 + 8)) &
                    ((strip == strips - 1) | (left + v - tile_left < 120))) << v;
        }
        float x0[3][6] = {};
        float x1[3][6] = {};
        float x2[3][6] = {};
        float x3[3][6] = {};
        float x4[3][6] = {};
        float x5[3][6] = {};
        float x6[1][4] = {};
        float next0[4];
        const float *__restrict__ from0 = &A[(long long)begin * n + left];
        float *to6 = &A_shadow[(long long)first * n + left];
        bool wide = polytile_aligned<16>(&A[0], &A_shadow[0]) & (n % 4 == 0);
        if (wide & within & ((begin >= 0) & (begin <= n - 1))) {
            #pragma unroll
            for (int v = 0; v < 4; v += 4) {
                const float4 v0 = *(const float4 *)&from0[v];
                next0[v] = v0.x; next0[v + 1] = v0.y; next0[v + 2] = v0.z; next0[v + 3] = v0.w;
            }
        } else {
            #pragma unroll
            for (int v = 0; v < 4; ++v) {
                next0[v] = (begin >= 0) & (begin <= n - 1) & ((there >> v) & 1) ? from0[v] : 0.0f;
            }
        }
        int start = begin;
        #pragma unroll 1
        for (int half = 0; half < 2; ++half) {
            float early1[4];
            #pragma unroll
            for (int v = 0; v < 4; ++v) {
                early1[v] = (start - 1 >= 0) & (start - 1 <= n - 1) & ((there >> v) & 1) &
                        (!((start - 1 >= 1) & (start - 1 <= n - 2) & ((cells_S0 >> v) & 1))) ?
                        B[(long long)(start - 1) * n + left + v] : 0.0f;
            }
            #pragma unroll 1
            for (int row = start; row < low; ++row) {
                #pragma unroll
                for (int v = 0; v < 4; ++v) {
                    x0[0][v + 1] = next0[v];
                }
                from0 += n;
                if (wide & within & ((row + 1 >= 0) & (row + 1 <= n - 1))) {
                    #pragma unroll
                    for (int v = 0; v < 4; v += 4) {
                        const float4 v1 = *(const float4 *)&from0[v];
                        next0[v] = v1.x; next0[v + 1] = v1.y; next0[v + 2] = v1.z; next0[v + 3] = v1.w;
                    }
                } else {
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        next0[v] = (row + 1 >= 0) & (row + 1 <= n - 1) & ((there >> v) & 1) ? from0[v] : 0.0f;
                    }
                }
                if (within & ((row + 3 >= 0) & (row + 3 <= n - 1))) {
                    polytile_prefetch(&from0[n * 2]);
                }
                if (within & ((row + 2 >= 0) & (row + 2 <= n - 1))) {
                    polytile_prefetch(&B[(long long)(row + 2) * n + left]);
                }
                // step 1: B after iteration t0, row - 1
                x0[1][0] = __shfl_up_sync(0xffffffffu, x0[1][4], 1, 32);
                x0[1][5] = __shfl_down_sync(0xffffffffu, x0[1][1], 1, 32);
                {
                    unsigned int made = (row - 1 >= 1) & (row - 1 <= n - 2) ? cells_S0 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x1[0][v + 1] = 0.2f * (x0[1][v + 1] + x0[1][v] + x0[1][v + 2] + x0[0][v + 1] + x0[2][v + 1]);  // jacobi-2d.c:22
                        if (!((made >> v) & 1)) {
                            x1[0][v + 1] = early1[v];
                        }
                    }
                }
                #pragma unroll
                for (int v = 0; v < 4; ++v) {
                    early1[v] = (row + 1 - 1 >= 0) & (row + 1 - 1 <= n - 1) & ((there >> v) & 1) &
                            (!((row + 1 - 1 >= 1) & (row + 1 - 1 <= n - 2) & ((cells_S0 >> v) & 1))) ?
                            B[(long long)(row + 1 - 1) * n + left + v] : 0.0f;
                }
                // step 2: A after iteration t0, row - 2
                x1[1][0] = __shfl_up_sync(0xffffffffu, x1[1][4], 1, 32);
                x1[1][5] = __shfl_down_sync(0xffffffffu, x1[1][1], 1, 32);
                {
                    unsigned int made = (row - 2 >= 1) & (row - 2 <= n - 2) ? cells_S1 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x2[0][v + 1] = 0.2f * (x1[1][v + 1] + x1[1][v] + x1[1][v + 2] + x1[0][v + 1] + x1[2][v + 1]);  // jacobi-2d.c:27
                        if (!((made >> v) & 1)) {
                            x2[0][v + 1] = x0[2][v + 1];
                        }
                    }
                }
                // step 3: B after iteration t0 + 1, row - 3
                x2[1][0] = __shfl_up_sync(0xffffffffu, x2[1][4], 1, 32);
                x2[1][5] = __shfl_down_sync(0xffffffffu, x2[1][1], 1, 32);
                {
                    unsigned int made = (row - 3 >= 1) & (row - 3 <= n - 2) ? cells_S0 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x3[0][v + 1] = 0.2f * (x2[1][v + 1] + x2[1][v] + x2[1][v + 2] + x2[0][v + 1] + x2[2][v + 1]);  // jacobi-2d.c:22
                        if (!((made >> v) & 1)) {
                            x3[0][v + 1] = x1[2][v + 1];
                        }
                    }
                }
                // step 4: A after iteration t0 + 1, row - 4
                x3[1][0] = __shfl_up_sync(0xffffffffu, x3[1][4], 1, 32);
                x3[1][5] = __shfl_down_sync(0xffffffffu, x3[1][1], 1, 32);
                {
                    unsigned int made = (row - 4 >= 1) & (row - 4 <= n - 2) ? cells_S1 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x4[0][v + 1] = 0.2f * (x3[1][v + 1] + x3[1][v] + x3[1][v + 2] + x3[0][v + 1] + x3[2][v + 1]);  // jacobi-2d.c:27
                        if (!((made >> v) & 1)) {
                            x4[0][v + 1] = x2[2][v + 1];
                        }
                    }
                }
                // step 5: B after iteration t0 + 2, row - 5
                x4[1][0] = __shfl_up_sync(0xffffffffu, x4[1][4], 1, 32);
                x4[1][5] = __shfl_down_sync(0xffffffffu, x4[1][1], 1, 32);
                {
                    unsigned int made = (row - 5 >= 1) & (row - 5 <= n - 2) ? cells_S0 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x5[0][v + 1] = 0.2f * (x4[1][v + 1] + x4[1][v] + x4[1][v + 2] + x4[0][v + 1] + x4[2][v + 1]);  // jacobi-2d.c:22
                        if (!((made >> v) & 1)) {
                            x5[0][v + 1] = x3[2][v + 1];
                        }
                    }
                }
                // step 6: A after iteration t0 + 2, row - 6
                x5[1][0] = __shfl_up_sync(0xffffffffu, x5[1][4], 1, 32);
                x5[1][5] = __shfl_down_sync(0xffffffffu, x5[1][1], 1, 32);
                {
                    unsigned int made = (row - 6 >= 1) & (row - 6 <= n - 2) ? cells_S1 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x6[0][v] = 0.2f * (x5[1][v + 1] + x5[1][v] + x5[1][v + 2] + x5[0][v + 1] + x5[2][v + 1]);  // jacobi-2d.c:27
                        if (!((made >> v) & 1)) {
                            x6[0][v] = x4[2][v + 1];
                        }
                    }
                }
                if (row - 6 >= first) {
                    if (wide & within) {
                        #pragma unroll
                        for (int v = 0; v < 4; v += 4) {
                            if ((own >> v) & 1) *(float4 *)&to6[v] = make_float4(x6[0][v], x6[0][v + 1], x6[0][v + 2], x6[0][v + 3]);
                        }
                    } else {
                        #pragma unroll
                        for (int v = 0; v < 4; ++v) {
                            if ((own >> v) & 1 & ((there >> v) & 1)) to6[v] = x6[0][v];
                        }
                    }
                    to6 += n;
                }
                #pragma unroll
                for (int v = 0; v < 4; ++v) {
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
                }
            }
            #pragma unroll 1
            for (int group = polytile_max(start, low); group < high; group += 3) {
                #pragma unroll
                for (int turn = 0; turn < 3; ++turn) {
                    int row = group + turn;
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x0[0][v + 1] = next0[v];
                    }
                    from0 += n;
                    if (wide) {
                        #pragma unroll
                        for (int v = 0; v < 4; v += 4) {
                            const float4 v2 = *(const float4 *)&from0[v];
                            next0[v] = v2.x; next0[v + 1] = v2.y; next0[v + 2] = v2.z; next0[v + 3] = v2.w;
                        }
                    } else {
                        #pragma unroll
                        for (int v = 0; v < 4; ++v) {
                            next0[v] = from0[v];
                        }
                    }
                    if (row + 2 < high) {
                        polytile_prefetch(&from0[n * 2]);
                    }
                    // step 1: B after iteration t0, row - 1
                    x0[1][0] = __shfl_up_sync(0xffffffffu, x0[1][4], 1, 32);
                    x0[1][5] = __shfl_down_sync(0xffffffffu, x0[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x1[0][v + 1] = 0.2f * (x0[1][v + 1] + x0[1][v] + x0[1][v + 2] + x0[0][v + 1] + x0[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 2: A after iteration t0, row - 2
                    x1[1][0] = __shfl_up_sync(0xffffffffu, x1[1][4], 1, 32);
                    x1[1][5] = __shfl_down_sync(0xffffffffu, x1[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x2[0][v + 1] = 0.2f * (x1[1][v + 1] + x1[1][v] + x1[1][v + 2] + x1[0][v + 1] + x1[2][v + 1]);  // jacobi-2d.c:27
                    }
                    // step 3: B after iteration t0 + 1, row - 3
                    x2[1][0] = __shfl_up_sync(0xffffffffu, x2[1][4], 1, 32);
                    x2[1][5] = __shfl_down_sync(0xffffffffu, x2[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x3[0][v + 1] = 0.2f * (x2[1][v + 1] + x2[1][v] + x2[1][v + 2] + x2[0][v + 1] + x2[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 4: A after iteration t0 + 1, row - 4
                    x3[1][0] = __shfl_up_sync(0xffffffffu, x3[1][4], 1, 32);
                    x3[1][5] = __shfl_down_sync(0xffffffffu, x3[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x4[0][v + 1] = 0.2f * (x3[1][v + 1] + x3[1][v] + x3[1][v + 2] + x3[0][v + 1] + x3[2][v + 1]);  // jacobi-2d.c:27
                    }
                    // step 5: B after iteration t0 + 2, row - 5
                    x4[1][0] = __shfl_up_sync(0xffffffffu, x4[1][4], 1, 32);
                    x4[1][5] = __shfl_down_sync(0xffffffffu, x4[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x5[0][v + 1] = 0.2f * (x4[1][v + 1] + x4[1][v] + x4[1][v + 2] + x4[0][v + 1] + x4[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 6: A after iteration t0 + 2, row - 6
                    x5[1][0] = __shfl_up_sync(0xffffffffu, x5[1][4], 1, 32);
                    x5[1][5] = __shfl_down_sync(0xffffffffu, x5[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x6[0][v] = 0.2f * (x5[1][v + 1] + x5[1][v] + x5[1][v + 2] + x5[0][v + 1] + x5[2][v + 1]);  // jacobi-2d.c:27
                    }
                    if (row - 6 >= first) {
                        if (wide) {
                            #pragma unroll
                            for (int v = 0; v < 4; v += 4) {
                                if ((own >> v) & 1) *(float4 *)&to6[v] = make_float4(x6[0][v], x6[0][v + 1], x6[0][v + 2], x6[0][v + 3]);
                            }
                        } else {
                            #pragma unroll
                            for (int v = 0; v < 4; ++v) {
                                if ((own >> v) & 1) to6[v] = x6[0][v];
                            }
                        }
                        to6 += n;
                    }
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
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
// 3 iterations from t1 on, from the second buffers
extern "C" __global__ void __launch_bounds__(128) jacobi_2d_scop0_out(int n, int strips, int chunk,
        int is_last, float *__restrict__ B, float *__restrict__ A, const float *__restrict__ A_shadow)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;

    int warp = block * 4 + __shfl_sync(0xffffffffu, thread / 32, 0, 32);
    int lane = thread % 32;
    int chunks = (n - 2 - 1 + 1 + chunk - 1) / chunk;
    if (warp < strips * chunks) {
        int strip = warp < chunks * 2 ? (warp < chunks ? 0 : strips - 1) :
                (warp - chunks * 2) % polytile_max(strips - 2, 1) + 1;
        int first = 1 + (warp < chunks * 2 ? warp % chunks : (warp - chunks * 2) / polytile_max(strips - 2, 1)) *
                chunk;
        int tile_left = polytile_min(strip * 112, polytile_max(polytile_min((n - 2 + 2 - 128 + 3) & -4, n - 1 + 1 -
                128), 0));
        int left = tile_left + lane * 4;
        bool within = (tile_left >= 0) & (tile_left + 127 <= n - 1);
        bool regular = within;
        bool inside = regular & (tile_left - 1 >= 0) & (n - (tile_left + 127) - 2 >= 0);
        int until = polytile_min(first + chunk, n - 2 + 1);
        int begin = polytile_max(first - 6, 0);
        int end = until + 6;
        int low = inside ? polytile_min(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(begin, 6), 7), 0), 1), 2), 3), 4), 5), end) : end;
        int high = low + polytile_max(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(end, n - 2 + 2), n - 2 + 3), n - 2), n - 1 + 1), n - 1 + 2), n - 1 + 3), n - 1 + 4), n - 1 + 5), n - 1 + 6) - low, 0) / 3 * 3;
        unsigned int columns_S0 = 0u;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            columns_S0 |= (unsigned int)((left + v >= 1) & (left + v <= n - 2)) << v;
        }
        unsigned int cells_S0 = 0u;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            cells_S0 |= (unsigned int)((columns_S0 >> v) & 1) << v;
        }
        unsigned int columns_S1 = 0u;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            columns_S1 |= (unsigned int)((left + v >= 1) & (left + v <= n - 2)) << v;
        }
        unsigned int cells_S1 = 0u;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            cells_S1 |= (unsigned int)((columns_S1 >> v) & 1) << v;
        }
        unsigned int there = 0u;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            there |= (unsigned int)((left + v >= 0) & (left + v <= n - 1)) << v;
        }
        unsigned int own = 0u;
        #pragma unroll
        for (int v = 0; v < 4; ++v) {
            own |= (unsigned int)(((strip == 0) | (left + v >= strip * 112 + 8)) &
                    ((strip == strips - 1) | (left + v - tile_left < 120))) << v;
        }
        float x0[3][6] = {};
        float x1[3][6] = {};
        float x2[3][6] = {};
        float x3[3][6] = {};
        float x4[3][6] = {};
        float x5[3][6] = {};
        float x6[1][4] = {};
        float next0[4];
        const float *__restrict__ from0 = &A_shadow[(long long)begin * n + left];
        float *to5 = &B[(long long)first * n + left];
        float *to6 = &A[(long long)first * n + left];
        bool wide = polytile_aligned<16>(&A_shadow[0], &B[0], &A[0]) & (n % 4 == 0);
        if (wide & within & ((begin >= 1) & (begin <= n - 2))) {
            #pragma unroll
            for (int v = 0; v < 4; v += 4) {
                const float4 v0 = *(const float4 *)&from0[v];
                next0[v] = v0.x; next0[v + 1] = v0.y; next0[v + 2] = v0.z; next0[v + 3] = v0.w;
            }
        } else if ((begin >= 1) & (begin <= n - 2)) {
            #pragma unroll
            for (int v = 0; v < 4; ++v) {
                next0[v] = (there >> v) & 1 ? from0[v] : 0.0f;
            }
        } else {
            const float *ahead = &A[(long long)begin * n + left];
            #pragma unroll
            for (int v = 0; v < 4; ++v) {
                next0[v] = (begin >= 0) & (begin <= n - 1) & ((there >> v) & 1) ? ahead[v] : 0.0f;
            }
        }
        int start = begin;
        #pragma unroll 1
        for (int half = 0; half < 2; ++half) {
            float early1[4];
            #pragma unroll
            for (int v = 0; v < 4; ++v) {
                early1[v] = (start - 1 >= 0) & (start - 1 <= n - 1) & ((there >> v) & 1) &
                        (!((start - 1 >= 1) & (start - 1 <= n - 2) & ((cells_S0 >> v) & 1))) ?
                        B[(long long)(start - 1) * n + left + v] : 0.0f;
            }
            #pragma unroll 1
            for (int row = start; row < low; ++row) {
                #pragma unroll
                for (int v = 0; v < 4; ++v) {
                    x0[0][v + 1] = next0[v];
                }
                from0 += n;
                if (wide & within & ((row + 1 >= 1) & (row + 1 <= n - 2))) {
                    #pragma unroll
                    for (int v = 0; v < 4; v += 4) {
                        const float4 v1 = *(const float4 *)&from0[v];
                        next0[v] = v1.x; next0[v + 1] = v1.y; next0[v + 2] = v1.z; next0[v + 3] = v1.w;
                    }
                } else if ((row + 1 >= 1) & (row + 1 <= n - 2)) {
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        next0[v] = (there >> v) & 1 ? from0[v] : 0.0f;
                    }
                } else {
                    const float *ahead = &A[(long long)(row + 1) * n + left];
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        next0[v] = (row + 1 >= 0) & (row + 1 <= n - 1) & ((there >> v) & 1) ? ahead[v] : 0.0f;
                    }
                }
                if (within & ((row + 3 >= 1) & (row + 3 <= n - 2))) {
                    polytile_prefetch(&from0[n * 2]);
                }
                if (within & ((row + 2 >= 0) & (row + 2 <= n - 1))) {
                    polytile_prefetch(&B[(long long)(row + 2) * n + left]);
                }
                // step 1: B after iteration t1, row - 1
                x0[1][0] = __shfl_up_sync(0xffffffffu, x0[1][4], 1, 32);
                x0[1][5] = __shfl_down_sync(0xffffffffu, x0[1][1], 1, 32);
                {
                    unsigned int made = (row - 1 >= 1) & (row - 1 <= n - 2) ? cells_S0 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x1[0][v + 1] = 0.2f * (x0[1][v + 1] + x0[1][v] + x0[1][v + 2] + x0[0][v + 1] + x0[2][v + 1]);  // jacobi-2d.c:22
                        if (!((made >> v) & 1)) {
                            x1[0][v + 1] = early1[v];
                        }
                    }
                }
                #pragma unroll
                for (int v = 0; v < 4; ++v) {
                    early1[v] = (row + 1 - 1 >= 0) & (row + 1 - 1 <= n - 1) & ((there >> v) & 1) &
                            (!((row + 1 - 1 >= 1) & (row + 1 - 1 <= n - 2) & ((cells_S0 >> v) & 1))) ?
                            B[(long long)(row + 1 - 1) * n + left + v] : 0.0f;
                }
                // step 2: A after iteration t1, row - 2
                x1[1][0] = __shfl_up_sync(0xffffffffu, x1[1][4], 1, 32);
                x1[1][5] = __shfl_down_sync(0xffffffffu, x1[1][1], 1, 32);
                {
                    unsigned int made = (row - 2 >= 1) & (row - 2 <= n - 2) ? cells_S1 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x2[0][v + 1] = 0.2f * (x1[1][v + 1] + x1[1][v] + x1[1][v + 2] + x1[0][v + 1] + x1[2][v + 1]);  // jacobi-2d.c:27
                        if (!((made >> v) & 1)) {
                            x2[0][v + 1] = x0[2][v + 1];
                        }
                    }
                }
                // step 3: B after iteration t1 + 1, row - 3
                x2[1][0] = __shfl_up_sync(0xffffffffu, x2[1][4], 1, 32);
                x2[1][5] = __shfl_down_sync(0xffffffffu, x2[1][1], 1, 32);
                {
                    unsigned int made = (row - 3 >= 1) & (row - 3 <= n - 2) ? cells_S0 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x3[0][v + 1] = 0.2f * (x2[1][v + 1] + x2[1][v] + x2[1][v + 2] + x2[0][v + 1] + x2[2][v + 1]);  // jacobi-2d.c:22
                        if (!((made >> v) & 1)) {
                            x3[0][v + 1] = x1[2][v + 1];
                        }
                    }
                }
                // step 4: A after iteration t1 + 1, row - 4
                x3[1][0] = __shfl_up_sync(0xffffffffu, x3[1][4], 1, 32);
                x3[1][5] = __shfl_down_sync(0xffffffffu, x3[1][1], 1, 32);
                {
                    unsigned int made = (row - 4 >= 1) & (row - 4 <= n - 2) ? cells_S1 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x4[0][v + 1] = 0.2f * (x3[1][v + 1] + x3[1][v] + x3[1][v + 2] + x3[0][v + 1] + x3[2][v + 1]);  // jacobi-2d.c:27
                        if (!((made >> v) & 1)) {
                            x4[0][v + 1] = x2[2][v + 1];
                        }
                    }
                }
                // step 5: B after iteration t1 + 2, row - 5
                x4[1][0] = __shfl_up_sync(0xffffffffu, x4[1][4], 1, 32);
                x4[1][5] = __shfl_down_sync(0xffffffffu, x4[1][1], 1, 32);
                {
                    unsigned int made = (row - 5 >= 1) & (row - 5 <= n - 2) ? cells_S0 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x5[0][v + 1] = 0.2f * (x4[1][v + 1] + x4[1][v] + x4[1][v + 2] + x4[0][v + 1] + x4[2][v + 1]);  // jacobi-2d.c:22
                        if (!((made >> v) & 1)) {
                            x5[0][v + 1] = x3[2][v + 1];
                        }
                    }
                }
                if ((row - 5 >= first) & (row - 5 < until) & is_last) {
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        if ((own >> v) & 1 & ((row - 5 >= 1) & (row - 5 <= n - 2) & ((cells_S0 >> v) & 1))) to5[v] = x5[0][v + 1];
                    }
                    to5 += n;
                }
                // step 6: A after iteration t1 + 2, row - 6
                x5[1][0] = __shfl_up_sync(0xffffffffu, x5[1][4], 1, 32);
                x5[1][5] = __shfl_down_sync(0xffffffffu, x5[1][1], 1, 32);
                {
                    unsigned int made = (row - 6 >= 1) & (row - 6 <= n - 2) ? cells_S1 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x6[0][v] = 0.2f * (x5[1][v + 1] + x5[1][v] + x5[1][v + 2] + x5[0][v + 1] + x5[2][v + 1]);  // jacobi-2d.c:27
                        if (!((made >> v) & 1)) {
                            x6[0][v] = x4[2][v + 1];
                        }
                    }
                }
                if (row - 6 >= first) {
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        if ((own >> v) & 1 & ((row - 6 >= 1) & (row - 6 <= n - 2) & ((cells_S1 >> v) & 1))) to6[v] = x6[0][v];
                    }
                    to6 += n;
                }
                #pragma unroll
                for (int v = 0; v < 4; ++v) {
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
                }
            }
            #pragma unroll 1
            for (int group = polytile_max(start, low); group < high; group += 3) {
                #pragma unroll
                for (int turn = 0; turn < 3; ++turn) {
                    int row = group + turn;
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x0[0][v + 1] = next0[v];
                    }
                    from0 += n;
                    if (wide) {
                        #pragma unroll
                        for (int v = 0; v < 4; v += 4) {
                            const float4 v2 = *(const float4 *)&from0[v];
                            next0[v] = v2.x; next0[v + 1] = v2.y; next0[v + 2] = v2.z; next0[v + 3] = v2.w;
                        }
                    } else {
                        #pragma unroll
                        for (int v = 0; v < 4; ++v) {
                            next0[v] = from0[v];
                        }
                    }
                    if (row + 2 < high) {
                        polytile_prefetch(&from0[n * 2]);
                    }
                    // step 1: B after iteration t1, row - 1
                    x0[1][0] = __shfl_up_sync(0xffffffffu, x0[1][4], 1, 32);
                    x0[1][5] = __shfl_down_sync(0xffffffffu, x0[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x1[0][v + 1] = 0.2f * (x0[1][v + 1] + x0[1][v] + x0[1][v + 2] + x0[0][v + 1] + x0[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 2: A after iteration t1, row - 2
                    x1[1][0] = __shfl_up_sync(0xffffffffu, x1[1][4], 1, 32);
                    x1[1][5] = __shfl_down_sync(0xffffffffu, x1[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x2[0][v + 1] = 0.2f * (x1[1][v + 1] + x1[1][v] + x1[1][v + 2] + x1[0][v + 1] + x1[2][v + 1]);  // jacobi-2d.c:27
                    }
                    // step 3: B after iteration t1 + 1, row - 3
                    x2[1][0] = __shfl_up_sync(0xffffffffu, x2[1][4], 1, 32);
                    x2[1][5] = __shfl_down_sync(0xffffffffu, x2[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x3[0][v + 1] = 0.2f * (x2[1][v + 1] + x2[1][v] + x2[1][v + 2] + x2[0][v + 1] + x2[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 4: A after iteration t1 + 1, row - 4
                    x3[1][0] = __shfl_up_sync(0xffffffffu, x3[1][4], 1, 32);
                    x3[1][5] = __shfl_down_sync(0xffffffffu, x3[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x4[0][v + 1] = 0.2f * (x3[1][v + 1] + x3[1][v] + x3[1][v + 2] + x3[0][v + 1] + x3[2][v + 1]);  // jacobi-2d.c:27
                    }
                    // step 5: B after iteration t1 + 2, row - 5
                    x4[1][0] = __shfl_up_sync(0xffffffffu, x4[1][4], 1, 32);
                    x4[1][5] = __shfl_down_sync(0xffffffffu, x4[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x5[0][v + 1] = 0.2f * (x4[1][v + 1] + x4[1][v] + x4[1][v + 2] + x4[0][v + 1] + x4[2][v + 1]);  // jacobi-2d.c:22
                    }
                    if ((row - 5 >= first) & (row - 5 < until) & is_last) {
                        if (wide) {
                            #pragma unroll
                            for (int v = 0; v < 4; v += 4) {
                                if ((own >> v) & 1) *(float4 *)&to5[v] = make_float4(x5[0][v + 1], x5[0][v + 2], x5[0][v + 3], x5[0][v + 4]);
                            }
                        } else {
                            #pragma unroll
                            for (int v = 0; v < 4; ++v) {
                                if ((own >> v) & 1) to5[v] = x5[0][v + 1];
                            }
                        }
                        to5 += n;
                    }
                    // step 6: A after iteration t1 + 2, row - 6
                    x5[1][0] = __shfl_up_sync(0xffffffffu, x5[1][4], 1, 32);
                    x5[1][5] = __shfl_down_sync(0xffffffffu, x5[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
                        x6[0][v] = 0.2f * (x5[1][v + 1] + x5[1][v] + x5[1][v + 2] + x5[0][v + 1] + x5[2][v + 1]);  // jacobi-2d.c:27
                    }
                    if (row - 6 >= first) {
                        if (wide) {
                            #pragma unroll
                            for (int v = 0; v < 4; v += 4) {
                                if ((own >> v) & 1) *(float4 *)&to6[v] = make_float4(x6[0][v], x6[0][v + 1], x6[0][v + 2], x6[0][v + 3]);
                            }
                        } else {
                            #pragma unroll
                            for (int v = 0; v < 4; ++v) {
                                if ((own >> v) & 1) to6[v] = x6[0][v];
                            }
                        }
                        to6 += n;
                    }
                    #pragma unroll
                    for (int v = 0; v < 4; ++v) {
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
    for (int bi = blockIdx.y; bi <= (n - 2) / 64; bi += gridDim.y) {
        if (ti + 8 * bi >= 1 && n >= 8 * ti + 64 * bi + 9 && n >= tj + 32 * bj + 2 && tj + 32 * bj >= 1) {
            int i = 8 * ti + 64 * bi;  // jacobi-2d.c:22
            int j = tj + 32 * bj;
            float v0 = 0.2f * A[(long long)(i - 1) * n + j];
            float v1 = v0 + 0.2f * A[(long long)i * n + j - 1];
            float v2 = v1 + 0.2f * A[(long long)i * n + j + 1];
            float v3 = 0.2f * A[(long long)(i + 1) * n + j - 1];
            float v4 = A[(long long)i * n + j];
            float v5 = A[(long long)(i + 1) * n + j];
            float v6 = 0.2f * (v4 + v5);
            float B_new = v2 + v6;
            float v7 = v3 + v6;
            float v8 = 0.2f * v5;
            float v9 = v7 + 0.2f * A[(long long)(i + 1) * n + j + 1];
            float v10 = v8 + 0.2f * A[(long long)(i + 2) * n + j - 1];
            float v11 = A[(long long)(i + 2) * n + j];
            float B_new_2 = v9 + 0.2f * v11;
            float v12 = v10 + 0.2f * A[(long long)(i + 2) * n + j + 1];
            float v13 = 0.2f * A[(long long)(i + 3) * n + j - 1];
            float v14 = A[(long long)(i + 3) * n + j];
            float v15 = 0.2f * (v11 + v14);
            float B_new_3 = v12 + v15;
            float v16 = v13 + v15;
            float v17 = 0.2f * v14;
            float v18 = v16 + 0.2f * A[(long long)(i + 3) * n + j + 1];
            float v19 = v17 + 0.2f * A[(long long)(i + 4) * n + j - 1];
            float v20 = A[(long long)(i + 4) * n + j];
            float B_new_4 = v18 + 0.2f * v20;
            float v21 = v19 + 0.2f * A[(long long)(i + 4) * n + j + 1];
            float v22 = 0.2f * A[(long long)(i + 5) * n + j - 1];
            float v23 = A[(long long)(i + 5) * n + j];
            float v24 = 0.2f * (v20 + v23);
            float B_new_5 = v21 + v24;
            float v25 = v22 + v24;
            float v26 = 0.2f * v23;
            float v27 = v25 + 0.2f * A[(long long)(i + 5) * n + j + 1];
            float v28 = v26 + 0.2f * A[(long long)(i + 6) * n + j - 1];
            float v29 = A[(long long)(i + 6) * n + j];
            float B_new_6 = v27 + 0.2f * v29;
            float v30 = v28 + 0.2f * A[(long long)(i + 6) * n + j + 1];
            float v31 = 0.2f * A[(long long)(i + 7) * n + j - 1];
            float v32 = 0.2f * (v29 + A[(long long)(i + 7) * n + j]);
            float B_new_7 = v30 + v32;
            float v33 = v31 + v32;
            float v34 = v33 + 0.2f * A[(long long)(i + 7) * n + j + 1];
            float B_new_8 = v34 + 0.2f * A[(long long)(i + 8) * n + j];
            B[(long long)i * n + j] = B_new;
            B[(long long)(i + 1) * n + j] = B_new_2;
            B[(long long)(i + 2) * n + j] = B_new_3;
            B[(long long)(i + 3) * n + j] = B_new_4;
            B[(long long)(i + 4) * n + j] = B_new_5;
            B[(long long)(i + 5) * n + j] = B_new_6;
            B[(long long)(i + 6) * n + j] = B_new_7;
            B[(long long)(i + 7) * n + j] = B_new_8;
        } else if (n >= tj + 32 * bj + 2 && tj + 32 * bj >= 1) {
            #pragma unroll 1
            for (int c_5 = polytile_max(0, -8 * ti - 64 * bi + 1); c_5 < polytile_min(8, n - 8 * ti - 64 * bi - 1);
                    ++c_5) {
                int i = 8 * ti + 64 * bi + c_5;  // jacobi-2d.c:22
                int j = tj + 32 * bj;
                B[(long long)i * n + j] = 0.2f * (A[(long long)i * n + j] + A[(long long)i * n + j - 1] +
                        A[(long long)i * n + j + 1] + A[(long long)(i + 1) * n + j] + A[(long long)(i - 1) * n + j]);
            }
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
    for (int bi = gridDim.y - 1 - blockIdx.y; bi <= (n - 2) / 64; bi += gridDim.y) {
        if (ti + 8 * bi >= 1 && n >= 8 * ti + 64 * bi + 9 && n >= tj + 32 * bj + 2 && tj + 32 * bj >= 1) {
            int i = 8 * ti + 64 * bi;  // jacobi-2d.c:27
            int j = tj + 32 * bj;
            float v0 = 0.2f * B[(long long)(i - 1) * n + j];
            float v1 = v0 + 0.2f * B[(long long)i * n + j - 1];
            float v2 = v1 + 0.2f * B[(long long)i * n + j + 1];
            float v3 = 0.2f * B[(long long)(i + 1) * n + j - 1];
            float v4 = B[(long long)i * n + j];
            float v5 = B[(long long)(i + 1) * n + j];
            float v6 = 0.2f * (v4 + v5);
            float A_new = v2 + v6;
            float v7 = v3 + v6;
            float v8 = 0.2f * v5;
            float v9 = v7 + 0.2f * B[(long long)(i + 1) * n + j + 1];
            float v10 = v8 + 0.2f * B[(long long)(i + 2) * n + j - 1];
            float v11 = B[(long long)(i + 2) * n + j];
            float A_new_2 = v9 + 0.2f * v11;
            float v12 = v10 + 0.2f * B[(long long)(i + 2) * n + j + 1];
            float v13 = 0.2f * B[(long long)(i + 3) * n + j - 1];
            float v14 = B[(long long)(i + 3) * n + j];
            float v15 = 0.2f * (v11 + v14);
            float A_new_3 = v12 + v15;
            float v16 = v13 + v15;
            float v17 = 0.2f * v14;
            float v18 = v16 + 0.2f * B[(long long)(i + 3) * n + j + 1];
            float v19 = v17 + 0.2f * B[(long long)(i + 4) * n + j - 1];
            float v20 = B[(long long)(i + 4) * n + j];
            float A_new_4 = v18 + 0.2f * v20;
            float v21 = v19 + 0.2f * B[(long long)(i + 4) * n + j + 1];
            float v22 = 0.2f * B[(long long)(i + 5) * n + j - 1];
            float v23 = B[(long long)(i + 5) * n + j];
            float v24 = 0.2f * (v20 + v23);
            float A_new_5 = v21 + v24;
            float v25 = v22 + v24;
            float v26 = 0.2f * v23;
            float v27 = v25 + 0.2f * B[(long long)(i + 5) * n + j + 1];
            float v28 = v26 + 0.2f * B[(long long)(i + 6) * n + j - 1];
            float v29 = B[(long long)(i + 6) * n + j];
            float A_new_6 = v27 + 0.2f * v29;
            float v30 = v28 + 0.2f * B[(long long)(i + 6) * n + j + 1];
            float v31 = 0.2f * B[(long long)(i + 7) * n + j - 1];
            float v32 = 0.2f * (v29 + B[(long long)(i + 7) * n + j]);
            float A_new_7 = v30 + v32;
            float v33 = v31 + v32;
            float v34 = v33 + 0.2f * B[(long long)(i + 7) * n + j + 1];
            float A_new_8 = v34 + 0.2f * B[(long long)(i + 8) * n + j];
            A[(long long)i * n + j] = A_new;
            A[(long long)(i + 1) * n + j] = A_new_2;
            A[(long long)(i + 2) * n + j] = A_new_3;
            A[(long long)(i + 3) * n + j] = A_new_4;
            A[(long long)(i + 4) * n + j] = A_new_5;
            A[(long long)(i + 5) * n + j] = A_new_6;
            A[(long long)(i + 6) * n + j] = A_new_7;
            A[(long long)(i + 7) * n + j] = A_new_8;
        } else if (n >= tj + 32 * bj + 2 && tj + 32 * bj >= 1) {
            #pragma unroll 1
            for (int c_5 = polytile_max(0, -8 * ti - 64 * bi + 1); c_5 < polytile_min(8, n - 8 * ti - 64 * bi - 1);
                    ++c_5) {
                int i = 8 * ti + 64 * bi + c_5;  // jacobi-2d.c:27
                int j = tj + 32 * bj;
                A[(long long)i * n + j] = 0.2f * (B[(long long)i * n + j] + B[(long long)i * n + j - 1] +
                        B[(long long)i * n + j + 1] + B[(long long)(i + 1) * n + j] + B[(long long)(i - 1) * n + j]);
            }
        }
    }
}
