// jacobi-2d.c:22: B[i * n + j] = 0.2f * (A[i * n + j] + A[i * n + j - 1] + A[i * n + j + 1] + A[(i + 1) * n + j]
//     + A[(i - 1) * n + j]);
// jacobi-2d.c:27: A[i * n + j] = 0.2f * (B[i * n + j] + B[i * n + j - 1] + B[i * n + j + 1] + B[(i + 1) * n + j]
//     + B[(i - 1) * n + j]);
// split schedule; 8 steps from t0 on, tiles in registers
extern "C" __global__ void __launch_bounds__(384) jacobi_2d_scop0_split(int n, int first_row_tile,
        int first_column_tile, int row_tiles, int column_tiles, int first_step, int last_step, int is_last,
        int phase, float *__restrict__ B, float *__restrict__ A)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int thread_row = threadIdx.y;
    __shared__ float shown_A[1][26][3][32];
    __shared__ float shown_B[1][26][3][32];

    polytile_await_launches();
    int warp = __shfl_sync(0xffffffffu, thread_row, 0, 32);
    int lane = thread;
    if (warp == 0) {
        shown_A[0][warp * 2][0][lane] = 0.0f;
        shown_A[0][warp * 2][1][lane] = 0.0f;
        shown_A[0][warp * 2][2][lane] = 0.0f;
    }
    if (warp == 11) {
        shown_A[0][warp * 2 + 3][0][lane] = 0.0f;
        shown_A[0][warp * 2 + 3][1][lane] = 0.0f;
        shown_A[0][warp * 2 + 3][2][lane] = 0.0f;
    }
    if (warp == 0) {
        shown_B[0][warp * 2][0][lane] = 0.0f;
        shown_B[0][warp * 2][1][lane] = 0.0f;
        shown_B[0][warp * 2][2][lane] = 0.0f;
    }
    if (warp == 11) {
        shown_B[0][warp * 2 + 3][0][lane] = 0.0f;
        shown_B[0][warp * 2 + 3][1][lane] = 0.0f;
        shown_B[0][warp * 2 + 3][2][lane] = 0.0f;
    }
    int column_tile = block % column_tiles + first_column_tile;
    int row_tile = block / column_tiles % row_tiles + first_row_tile;
    int colour = block / column_tiles / row_tiles;
    bool rows_grow = (phase == 2) | ((phase == 1) & (colour == 1));
    bool columns_grow = (phase == 2) | ((phase == 1) & (colour == 0));
    int own_row = warp * 4 + (rows_grow ? 30 : -1);
    int first_row = row_tile * 62 + own_row;
    int own_column = lane * 3 + (columns_grow ? 78 : -1);
    int first_column = column_tile * 158 + own_column;
    float B_own[1][6][5] = {};
    float A_own[1][6][5] = {};
    // fill
    {
        int row_rank_of_lane[1];
        if (rows_grow) {
            row_rank_of_lane[0] = (first_row + lane >= 0) & (first_row + lane <= n - 2 + 1) &
                    ((1 <= n - 2) & (1 <= n - 2)) & (polytile_max((polytile_max(polytile_max(44 - (own_row + lane),
                    own_row + lane - 63), 0) + 1) / 2, first_step) <= last_step) ?
                    (columns_grow ? 0 : 0 - polytile_max((polytile_max(polytile_max(44 - (own_row + lane), own_row +
                    lane - 63), 0) + 1) / 2, first_step)) : -2097152;
        } else {
            row_rank_of_lane[0] = (first_row + lane >= 0) & (first_row + lane <= n - 2 + 1) &
                    ((1 <= n - 2) & (1 <= n - 2)) & (polytile_min(polytile_max(polytile_min(own_row + lane, 45 -
                    (own_row + lane)) + 2, 0) / 2 - 1, last_step) >= first_step) ?
                    polytile_min(polytile_max(polytile_min(own_row + lane, 45 - (own_row + lane)) + 2, 0) / 2 - 1,
                    last_step) : -2097152;
        }
        int row_rank[4];
        #pragma unroll
        for (int r_2 = 0; r_2 < 4; ++r_2) {
            row_rank[r_2] = __shfl_sync(0xffffffffu, row_rank_of_lane[0], r_2, 32);
        }
        int column_rank[3];
        #pragma unroll
        for (int v_2 = 0; v_2 < 3; ++v_2) {
            if (columns_grow) {
                column_rank[v_2] = (first_column + v_2 >= 0) & (first_column + v_2 <= n - 2 + 1) &
                        (polytile_max((polytile_max(polytile_max(92 - (own_column + v_2), own_column + v_2 - 159), 0) + 1) /
                        2, first_step) <= last_step) ? (rows_grow ? 0 : polytile_max((polytile_max(polytile_max(92 -
                        (own_column + v_2), own_column + v_2 - 159), 0) + 1) / 2, first_step)) : 2097152;
            } else {
                column_rank[v_2] = (first_column + v_2 >= 0) & (first_column + v_2 <= n - 2 + 1) &
                        (polytile_min(polytile_max(polytile_min(own_column + v_2, 93 - (own_column + v_2)) + 2, 0) / 2 - 1,
                        last_step) >= first_step) ? 0 - polytile_min(polytile_max(polytile_min(own_column + v_2, 93 -
                        (own_column + v_2)) + 2, 0) / 2 - 1, last_step) : 2097152;
            }
        }
        bool at_first_of_lane[1];
        at_first_of_lane[0] = (first_row + lane >= 1) & (first_row + lane <= n - 2) & ((1 <= n - 2) & (1 <= n - 2)) &
                (own_row + lane >= first_step * (rows_grow ? -2 : 2) + (rows_grow ? 46 : 0)) &
                (own_row + lane <= first_step * (rows_grow ? 2 : -2) + (rows_grow ? 61 : 45));
        int at_first[4];
        #pragma unroll
        for (int r_2 = 0; r_2 < 4; ++r_2) {
            at_first[r_2] = __shfl_sync(0xffffffffu, at_first_of_lane[0] ? 1 : 0, r_2, 32);
        }
        bool at_first_2[3];
        #pragma unroll
        for (int v_2 = 0; v_2 < 3; ++v_2) {
            at_first_2[v_2] = (first_column + v_2 >= 1) & (first_column + v_2 <= n - 2) &
                    (own_column + v_2 >= first_step * (columns_grow ? -2 : 2) + (columns_grow ? 94 : 0)) &
                    (own_column + v_2 <= first_step * (columns_grow ? 2 : -2) + (columns_grow ? 157 : 93));
        }
        #pragma unroll
        for (int r_2 = 0; r_2 < 4; ++r_2) {
            #pragma unroll
            for (int v_2 = 0; v_2 < 3; ++v_2) {
                B_own[0][r_2 + 1][v_2 + 1] = (column_rank[v_2] <= row_rank[r_2]) &
                        (!((at_first[r_2] != 0) & at_first_2[v_2])) ? B[(long long)(first_row + r_2) * n + first_column +
                        v_2] : 0.0f;
            }
        }
        int row_rank_of_lane_2[1];
        if (rows_grow) {
            row_rank_of_lane_2[0] = (first_row + lane >= 0) & (first_row + lane <= n - 2 + 1) &
                    ((1 <= n - 2) & (1 <= n - 2)) & (polytile_max((polytile_max(polytile_max(45 - (own_row + lane),
                    own_row + lane - 62), 0) + 1) / 2, first_step) <= last_step) ?
                    (columns_grow ? 0 : 0 - polytile_max((polytile_max(polytile_max(45 - (own_row + lane), own_row +
                    lane - 62), 0) + 1) / 2, first_step)) : -2097152;
        } else {
            row_rank_of_lane_2[0] = (first_row + lane >= 0) & (first_row + lane <= n - 2 + 1) &
                    ((1 <= n - 2) & (1 <= n - 2)) & (polytile_min(polytile_max(polytile_min(own_row + lane + 1, 46 -
                    (own_row + lane)) + 2, 0) / 2 - 1, last_step) >= first_step) ?
                    polytile_min(polytile_max(polytile_min(own_row + lane + 1, 46 - (own_row + lane)) + 2, 0) / 2 - 1,
                    last_step) : -2097152;
        }
        int row_rank_2[4];
        #pragma unroll
        for (int r_2 = 0; r_2 < 4; ++r_2) {
            row_rank_2[r_2] = __shfl_sync(0xffffffffu, row_rank_of_lane_2[0], r_2, 32);
        }
        int column_rank_2[3];
        #pragma unroll
        for (int v_2 = 0; v_2 < 3; ++v_2) {
            if (columns_grow) {
                column_rank_2[v_2] = (first_column + v_2 >= 0) & (first_column + v_2 <= n - 2 + 1) &
                        (polytile_max((polytile_max(polytile_max(93 - (own_column + v_2), own_column + v_2 - 158), 0) + 1) /
                        2, first_step) <= last_step) ? (rows_grow ? 0 : polytile_max((polytile_max(polytile_max(93 -
                        (own_column + v_2), own_column + v_2 - 158), 0) + 1) / 2, first_step)) : 2097152;
            } else {
                column_rank_2[v_2] = (first_column + v_2 >= 0) & (first_column + v_2 <= n - 2 + 1) &
                        (polytile_min(polytile_max(polytile_min(own_column + v_2 + 1, 94 - (own_column + v_2)) + 2, 0) / 2 -
                        1, last_step) >= first_step) ? 0 - polytile_min(polytile_max(polytile_min(own_column + v_2 + 1, 94 -
                        (own_column + v_2)) + 2, 0) / 2 - 1, last_step) : 2097152;
            }
        }
        #pragma unroll
        for (int r_2 = 0; r_2 < 4; ++r_2) {
            #pragma unroll
            for (int v_2 = 0; v_2 < 3; ++v_2) {
                A_own[0][r_2 + 1][v_2 + 1] = column_rank_2[v_2] <= row_rank_2[r_2] ?
                        A[(long long)(first_row + r_2) * n + first_column + v_2] : 0.0f;
            }
        }
    }
    #pragma unroll 1
    for (int u = first_step; u <= last_step; ++u) {
        int low_row = u * (rows_grow ? -2 : 2) - own_row;
        int high_row = u * (rows_grow ? 2 : -2) - own_row;
        int low_column = u * (columns_grow ? -2 : 2) - own_column;
        int high_column = u * (columns_grow ? 2 : -2) - own_column;
        // B at step u
        int min_row_S0 = polytile_max(low_row + (rows_grow ? 46 : 0), 1 - first_row);
        int max_row_S0 = polytile_min(high_row + (rows_grow ? 61 : 45), n - 2 - first_row);
        int min_column_S0 = polytile_max(low_column + (columns_grow ? 94 : 0), 1 - first_column);
        int max_column_S0 = polytile_min(high_column + (columns_grow ? 157 : 93), n - 2 - first_column);
        bool made_S0[3];
        #pragma unroll
        for (int v = 0; v < 3; ++v) {
            made_S0[v] = (v >= min_column_S0) & (v <= max_column_S0);
        }
        shown_A[u & 0][warp * 2 + 1][0][lane] = A_own[0][1][1];
        shown_A[u & 0][warp * 2 + 1][1][lane] = A_own[0][1][2];
        shown_A[u & 0][warp * 2 + 1][2][lane] = A_own[0][1][3];
        shown_A[u & 0][warp * 2 + 2][0][lane] = A_own[0][4][1];
        shown_A[u & 0][warp * 2 + 2][1][lane] = A_own[0][4][2];
        shown_A[u & 0][warp * 2 + 2][2][lane] = A_own[0][4][3];
        __syncthreads();  // neighbours read the rows that were shown, and have read those of before
        A_own[0][0][1] = shown_A[u & 0][warp * 2][0][lane];
        A_own[0][0][2] = shown_A[u & 0][warp * 2][1][lane];
        A_own[0][0][3] = shown_A[u & 0][warp * 2][2][lane];
        A_own[0][5][1] = shown_A[u & 0][warp * 2 + 3][0][lane];
        A_own[0][5][2] = shown_A[u & 0][warp * 2 + 3][1][lane];
        A_own[0][5][3] = shown_A[u & 0][warp * 2 + 3][2][lane];
        {
            if ((min_row_S0 <= 0) & (max_row_S0 >= 3)) {
                #pragma unroll
                for (int r = 0; r < 4; ++r) {
                    A_own[0][r + 1][0] = __shfl_up_sync(0xffffffffu, A_own[0][r + 1][3], 1, 32);
                    A_own[0][r + 1][4] = __shfl_down_sync(0xffffffffu, A_own[0][r + 1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        float new_B_2;
                        new_B_2 = 0.2f * (A_own[0][r + 1][v + 1] + A_own[0][r + 1][v - 1 + 1] + A_own[0][r + 1][v + 1 + 1] +
                                A_own[0][r + 1 + 1][v + 1] + A_own[0][r - 1 + 1][v + 1]);  // jacobi-2d.c:22
                        if (made_S0[v]) {
                            B_own[0][r + 1][v + 1] = new_B_2;
                        }
                    }
                }
            } else if ((min_row_S0 <= 3) & (max_row_S0 >= 0)) {
                #pragma unroll
                for (int r = 0; r < 4; ++r) {
                    bool row_of_S0 = (r >= min_row_S0) & (r <= max_row_S0);
                    A_own[0][r + 1][0] = __shfl_up_sync(0xffffffffu, A_own[0][r + 1][3], 1, 32);
                    A_own[0][r + 1][4] = __shfl_down_sync(0xffffffffu, A_own[0][r + 1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        float new_B;
                        new_B = 0.2f * (A_own[0][r + 1][v + 1] + A_own[0][r + 1][v - 1 + 1] + A_own[0][r + 1][v + 1 + 1] +
                                A_own[0][r + 1 + 1][v + 1] + A_own[0][r - 1 + 1][v + 1]);  // jacobi-2d.c:22
                        if (made_S0[v] & row_of_S0) {
                            B_own[0][r + 1][v + 1] = new_B;
                        }
                    }
                }
            }
        }
        // A at step u
        int min_row_S1 = polytile_max(low_row + (rows_grow ? 45 : 1), 1 - first_row);
        int max_row_S1 = polytile_min(high_row + (rows_grow ? 62 : 44), n - 2 - first_row);
        int min_column_S1 = polytile_max(low_column + (columns_grow ? 93 : 1), 1 - first_column);
        int max_column_S1 = polytile_min(high_column + (columns_grow ? 158 : 92), n - 2 - first_column);
        bool made_S1[3];
        #pragma unroll
        for (int v = 0; v < 3; ++v) {
            made_S1[v] = (v >= min_column_S1) & (v <= max_column_S1);
        }
        shown_B[u & 0][warp * 2 + 1][0][lane] = B_own[0][1][1];
        shown_B[u & 0][warp * 2 + 1][1][lane] = B_own[0][1][2];
        shown_B[u & 0][warp * 2 + 1][2][lane] = B_own[0][1][3];
        shown_B[u & 0][warp * 2 + 2][0][lane] = B_own[0][4][1];
        shown_B[u & 0][warp * 2 + 2][1][lane] = B_own[0][4][2];
        shown_B[u & 0][warp * 2 + 2][2][lane] = B_own[0][4][3];
        __syncthreads();  // neighbours read the rows that were shown, and have read those of before
        B_own[0][0][1] = shown_B[u & 0][warp * 2][0][lane];
        B_own[0][0][2] = shown_B[u & 0][warp * 2][1][lane];
        B_own[0][0][3] = shown_B[u & 0][warp * 2][2][lane];
        B_own[0][5][1] = shown_B[u & 0][warp * 2 + 3][0][lane];
        B_own[0][5][2] = shown_B[u & 0][warp * 2 + 3][1][lane];
        B_own[0][5][3] = shown_B[u & 0][warp * 2 + 3][2][lane];
        {
            if ((min_row_S1 <= 0) & (max_row_S1 >= 3)) {
                #pragma unroll
                for (int r = 0; r < 4; ++r) {
                    B_own[0][r + 1][0] = __shfl_up_sync(0xffffffffu, B_own[0][r + 1][3], 1, 32);
                    B_own[0][r + 1][4] = __shfl_down_sync(0xffffffffu, B_own[0][r + 1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        float new_A_2;
                        new_A_2 = 0.2f * (B_own[0][r + 1][v + 1] + B_own[0][r + 1][v - 1 + 1] + B_own[0][r + 1][v + 1 + 1] +
                                B_own[0][r + 1 + 1][v + 1] + B_own[0][r - 1 + 1][v + 1]);  // jacobi-2d.c:27
                        if (made_S1[v]) {
                            A_own[0][r + 1][v + 1] = new_A_2;
                        }
                    }
                }
            } else if ((min_row_S1 <= 3) & (max_row_S1 >= 0)) {
                #pragma unroll
                for (int r = 0; r < 4; ++r) {
                    bool row_of_S1 = (r >= min_row_S1) & (r <= max_row_S1);
                    B_own[0][r + 1][0] = __shfl_up_sync(0xffffffffu, B_own[0][r + 1][3], 1, 32);
                    B_own[0][r + 1][4] = __shfl_down_sync(0xffffffffu, B_own[0][r + 1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        float new_A;
                        new_A = 0.2f * (B_own[0][r + 1][v + 1] + B_own[0][r + 1][v - 1 + 1] + B_own[0][r + 1][v + 1 + 1] +
                                B_own[0][r + 1 + 1][v + 1] + B_own[0][r - 1 + 1][v + 1]);  // jacobi-2d.c:27
                        if (made_S1[v] & row_of_S1) {
                            A_own[0][r + 1][v + 1] = new_A;
                        }
                    }
                }
            }
        }
    }
    // drain
    {
        bool passed_on_of_lane[1];
        passed_on_of_lane[0] = (is_last != 0) | ((!rows_grow) & (polytile_max(polytile_min(own_row + lane - 2, 43 -
                (own_row + lane)) + 2, 0) / 2 - 1 < last_step));
        int passed_on[4];
        #pragma unroll
        for (int r_2 = 0; r_2 < 4; ++r_2) {
            passed_on[r_2] = __shfl_sync(0xffffffffu, passed_on_of_lane[0] ? 1 : 0, r_2, 32);
        }
        bool passed_on_2[3];
        #pragma unroll
        for (int v_2 = 0; v_2 < 3; ++v_2) {
            passed_on_2[v_2] = (!columns_grow) & (polytile_max(polytile_min(own_column + v_2 - 2, 91 -
                    (own_column + v_2)) + 2, 0) / 2 - 1 < last_step);
        }
        int row_rank_of_lane_3[1];
        if (rows_grow) {
            row_rank_of_lane_3[0] = (first_row + lane >= 1) & (first_row + lane <= n - 2) &
                    ((1 <= n - 2) & (1 <= n - 2)) & (polytile_max((polytile_max(polytile_max(46 - (own_row + lane),
                    own_row + lane - 61), 0) + 1) / 2, first_step) <= last_step) ?
                    (columns_grow ? 0 : 0 - polytile_max((polytile_max(polytile_max(46 - (own_row + lane), own_row +
                    lane - 61), 0) + 1) / 2, first_step)) : -2097152;
        } else {
            row_rank_of_lane_3[0] = (first_row + lane >= 1) & (first_row + lane <= n - 2) &
                    ((1 <= n - 2) & (1 <= n - 2)) & (polytile_min(polytile_max(polytile_min(own_row + lane, 45 -
                    (own_row + lane)) + 2, 0) / 2 - 1, last_step) >= first_step) ?
                    polytile_min(polytile_max(polytile_min(own_row + lane, 45 - (own_row + lane)) + 2, 0) / 2 - 1,
                    last_step) : -2097152;
        }
        int row_rank_3[4];
        #pragma unroll
        for (int r_2 = 0; r_2 < 4; ++r_2) {
            row_rank_3[r_2] = __shfl_sync(0xffffffffu, row_rank_of_lane_3[0], r_2, 32);
        }
        int column_rank_3[3];
        #pragma unroll
        for (int v_2 = 0; v_2 < 3; ++v_2) {
            if (columns_grow) {
                column_rank_3[v_2] = (first_column + v_2 >= 1) & (first_column + v_2 <= n - 2) &
                        (polytile_max((polytile_max(polytile_max(94 - (own_column + v_2), own_column + v_2 - 157), 0) + 1) /
                        2, first_step) <= last_step) ? (rows_grow ? 0 : polytile_max((polytile_max(polytile_max(94 -
                        (own_column + v_2), own_column + v_2 - 157), 0) + 1) / 2, first_step)) : 2097152;
            } else {
                column_rank_3[v_2] = (first_column + v_2 >= 1) & (first_column + v_2 <= n - 2) &
                        (polytile_min(polytile_max(polytile_min(own_column + v_2, 93 - (own_column + v_2)) + 2, 0) / 2 - 1,
                        last_step) >= first_step) ? 0 - polytile_min(polytile_max(polytile_min(own_column + v_2, 93 -
                        (own_column + v_2)) + 2, 0) / 2 - 1, last_step) : 2097152;
            }
        }
        #pragma unroll
        for (int r_2 = 0; r_2 < 4; ++r_2) {
            #pragma unroll
            for (int v_2 = 0; v_2 < 3; ++v_2) {
                if ((column_rank_3[v_2] <= row_rank_3[r_2]) & ((passed_on[r_2] != 0) |
                        passed_on_2[v_2])) B[(long long)(first_row + r_2) * n + first_column + v_2] =
                        B_own[0][r_2 + 1][v_2 + 1];
            }
        }
        int row_rank_of_lane_4[1];
        if (rows_grow) {
            row_rank_of_lane_4[0] = (first_row + lane >= 1) & (first_row + lane <= n - 2) &
                    ((1 <= n - 2) & (1 <= n - 2)) & (polytile_max((polytile_max(polytile_max(45 - (own_row + lane),
                    own_row + lane - 62), 0) + 1) / 2, first_step) <= last_step) ?
                    (columns_grow ? 0 : 0 - polytile_max((polytile_max(polytile_max(45 - (own_row + lane), own_row +
                    lane - 62), 0) + 1) / 2, first_step)) : -2097152;
        } else {
            row_rank_of_lane_4[0] = (first_row + lane >= 1) & (first_row + lane <= n - 2) &
                    ((1 <= n - 2) & (1 <= n - 2)) & (polytile_min(polytile_max(polytile_min(own_row + lane - 1, 44 -
                    (own_row + lane)) + 2, 0) / 2 - 1, last_step) >= first_step) ?
                    polytile_min(polytile_max(polytile_min(own_row + lane - 1, 44 - (own_row + lane)) + 2, 0) / 2 - 1,
                    last_step) : -2097152;
        }
        int row_rank_4[4];
        #pragma unroll
        for (int r_2 = 0; r_2 < 4; ++r_2) {
            row_rank_4[r_2] = __shfl_sync(0xffffffffu, row_rank_of_lane_4[0], r_2, 32);
        }
        int column_rank_4[3];
        #pragma unroll
        for (int v_2 = 0; v_2 < 3; ++v_2) {
            if (columns_grow) {
                column_rank_4[v_2] = (first_column + v_2 >= 1) & (first_column + v_2 <= n - 2) &
                        (polytile_max((polytile_max(polytile_max(93 - (own_column + v_2), own_column + v_2 - 158), 0) + 1) /
                        2, first_step) <= last_step) ? (rows_grow ? 0 : polytile_max((polytile_max(polytile_max(93 -
                        (own_column + v_2), own_column + v_2 - 158), 0) + 1) / 2, first_step)) : 2097152;
            } else {
                column_rank_4[v_2] = (first_column + v_2 >= 1) & (first_column + v_2 <= n - 2) &
                        (polytile_min(polytile_max(polytile_min(own_column + v_2 - 1, 92 - (own_column + v_2)) + 2, 0) / 2 -
                        1, last_step) >= first_step) ? 0 - polytile_min(polytile_max(polytile_min(own_column + v_2 - 1, 92 -
                        (own_column + v_2)) + 2, 0) / 2 - 1, last_step) : 2097152;
            }
        }
        #pragma unroll
        for (int r_2 = 0; r_2 < 4; ++r_2) {
            #pragma unroll
            for (int v_2 = 0; v_2 < 3; ++v_2) {
                if (column_rank_4[v_2] <= row_rank_4[r_2]) A[(long long)(first_row + r_2) * n + first_column + v_2] =
                        A_own[0][r_2 + 1][v_2 + 1];
            }
        }
    }
}
