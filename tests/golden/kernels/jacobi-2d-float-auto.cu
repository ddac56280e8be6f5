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
    __shared__ float stored[12][96];

    polytile_await_launches();
    int warp = __shfl_sync(0xffffffffu, thread_row, 0, 32);
    int lane = thread;
    int column_tile = block % column_tiles + first_column_tile;
    int row_tile = block / column_tiles % row_tiles + first_row_tile;
    int colour = block / column_tiles / row_tiles;
    bool rows_grow = (phase == 2) | ((phase == 1) & (colour == 1));
    bool columns_grow = (phase == 2) | ((phase == 1) & (colour == 0));
    if ((row_tile * 62 + (rows_grow ? 76 : 45) < 1) | (row_tile * 62 + (rows_grow ? 31 : 0) > n - 2) |
            (column_tile * 158 + (columns_grow ? 172 : 93) < 1) |
            (column_tile * 158 + (columns_grow ? 79 : 0) > n - 2)) {
        return;  // the tile has no places
    }
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
                    (columns_grow ? 0 : polytile_negative(polytile_max((polytile_max(polytile_max(44 - (own_row + lane),
                    own_row + lane - 63), 0) + 1) / 2, first_step))) : -2097152;
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
                        last_step) >= first_step) ? polytile_negative(polytile_min(polytile_max(polytile_min(own_column +
                        v_2, 93 - (own_column + v_2)) + 2, 0) / 2 - 1, last_step)) : 2097152;
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
                    (columns_grow ? 0 : polytile_negative(polytile_max((polytile_max(polytile_max(45 - (own_row + lane),
                    own_row + lane - 62), 0) + 1) / 2, first_step))) : -2097152;
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
                        1, last_step) >= first_step) ? polytile_negative(polytile_min(polytile_max(polytile_min(own_column +
                        v_2 + 1, 94 - (own_column + v_2)) + 2, 0) / 2 - 1, last_step)) : 2097152;
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
                        new_B_2 = 0.2f * (A_own[0][r + 1][v + 1] + A_own[0][r + 1][v] + A_own[0][r + 1][v + 2] +
                                A_own[0][r + 2][v + 1] + A_own[0][r][v + 1]);  // jacobi-2d.c:22
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
                        new_B = 0.2f * (A_own[0][r + 1][v + 1] + A_own[0][r + 1][v] + A_own[0][r + 1][v + 2] +
                                A_own[0][r + 2][v + 1] + A_own[0][r][v + 1]);  // jacobi-2d.c:22
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
                        new_A_2 = 0.2f * (B_own[0][r + 1][v + 1] + B_own[0][r + 1][v] + B_own[0][r + 1][v + 2] +
                                B_own[0][r + 2][v + 1] + B_own[0][r][v + 1]);  // jacobi-2d.c:27
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
                        new_A = 0.2f * (B_own[0][r + 1][v + 1] + B_own[0][r + 1][v] + B_own[0][r + 1][v + 2] +
                                B_own[0][r + 2][v + 1] + B_own[0][r][v + 1]);  // jacobi-2d.c:27
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
            passed_on_2[v_2] = (!columns_grow) & (polytile_max(polytile_min(own_column + (v_2 * 32 + lane * -2) - 2, 91 -
                    (own_column + (v_2 * 32 + lane * -2))) + 2, 0) / 2 - 1 < last_step);
        }
        int row_rank_of_lane_3[1];
        if (rows_grow) {
            row_rank_of_lane_3[0] = (first_row + lane >= 1) & (first_row + lane <= n - 2) &
                    ((1 <= n - 2) & (1 <= n - 2)) & (polytile_max((polytile_max(polytile_max(46 - (own_row + lane),
                    own_row + lane - 61), 0) + 1) / 2, first_step) <= last_step) ?
                    (columns_grow ? 0 : polytile_negative(polytile_max((polytile_max(polytile_max(46 - (own_row + lane),
                    own_row + lane - 61), 0) + 1) / 2, first_step))) : -2097152;
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
                column_rank_3[v_2] = (first_column + (v_2 * 32 + lane * -2) >= 1) &
                        (first_column + (v_2 * 32 + lane * -2) <= n - 2) &
                        (polytile_max((polytile_max(polytile_max(94 - (own_column + (v_2 * 32 + lane * -2)), own_column +
                        (v_2 * 32 + lane * -2) - 157), 0) + 1) / 2, first_step) <= last_step) ?
                        (rows_grow ? 0 : polytile_max((polytile_max(polytile_max(94 - (own_column + (v_2 * 32 + lane * -2)),
                        own_column + (v_2 * 32 + lane * -2) - 157), 0) + 1) / 2, first_step)) : 2097152;
            } else {
                column_rank_3[v_2] = (first_column + (v_2 * 32 + lane * -2) >= 1) &
                        (first_column + (v_2 * 32 + lane * -2) <= n - 2) &
                        (polytile_min(polytile_max(polytile_min(own_column + (v_2 * 32 + lane * -2), 93 -
                        (own_column + (v_2 * 32 + lane * -2))) + 2, 0) / 2 - 1, last_step) >= first_step) ?
                        polytile_negative(polytile_min(polytile_max(polytile_min(own_column + (v_2 * 32 + lane * -2), 93 -
                        (own_column + (v_2 * 32 + lane * -2))) + 2, 0) / 2 - 1, last_step)) : 2097152;
            }
        }
        #pragma unroll
        for (int r_2 = 0; r_2 < 4; ++r_2) {
            stored[warp][lane * 3] = B_own[0][r_2 + 1][1];
            stored[warp][lane * 3 + 1] = B_own[0][r_2 + 1][2];
            stored[warp][lane * 3 + 2] = B_own[0][r_2 + 1][3];
            __syncwarp();  // other lanes read what each has put into the strip
            #pragma unroll
            for (int v_2 = 0; v_2 < 3; ++v_2) {
                if ((column_rank_3[v_2] <= row_rank_3[r_2]) & ((passed_on[r_2] != 0) |
                        passed_on_2[v_2])) B[(long long)(first_row + r_2) * n + first_column + (v_2 * 32 + lane * -2)] =
                        stored[warp][v_2 * 32 + lane];
            }
            __syncwarp();  // the next plane's columns replace those that were stored
        }
        int row_rank_of_lane_4[1];
        if (rows_grow) {
            row_rank_of_lane_4[0] = (first_row + lane >= 1) & (first_row + lane <= n - 2) &
                    ((1 <= n - 2) & (1 <= n - 2)) & (polytile_max((polytile_max(polytile_max(45 - (own_row + lane),
                    own_row + lane - 62), 0) + 1) / 2, first_step) <= last_step) ?
                    (columns_grow ? 0 : polytile_negative(polytile_max((polytile_max(polytile_max(45 - (own_row + lane),
                    own_row + lane - 62), 0) + 1) / 2, first_step))) : -2097152;
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
                column_rank_4[v_2] = (first_column + (v_2 * 32 + lane * -2) >= 1) &
                        (first_column + (v_2 * 32 + lane * -2) <= n - 2) &
                        (polytile_max((polytile_max(polytile_max(93 - (own_column + (v_2 * 32 + lane * -2)), own_column +
                        (v_2 * 32 + lane * -2) - 158), 0) + 1) / 2, first_step) <= last_step) ?
                        (rows_grow ? 0 : polytile_max((polytile_max(polytile_max(93 - (own_column + (v_2 * 32 + lane * -2)),
                        own_column + (v_2 * 32 + lane * -2) - 158), 0) + 1) / 2, first_step)) : 2097152;
            } else {
                column_rank_4[v_2] = (first_column + (v_2 * 32 + lane * -2) >= 1) &
                        (first_column + (v_2 * 32 + lane * -2) <= n - 2) &
                        (polytile_min(polytile_max(polytile_min(own_column + (v_2 * 32 + lane * -2) - 1, 92 -
                        (own_column + (v_2 * 32 + lane * -2))) + 2, 0) / 2 - 1, last_step) >= first_step) ?
                        polytile_negative(polytile_min(polytile_max(polytile_min(own_column + (v_2 * 32 + lane * -2) - 1,
                        92 - (own_column + (v_2 * 32 + lane * -2))) + 2, 0) / 2 - 1, last_step)) : 2097152;
            }
        }
        #pragma unroll
        for (int r_2 = 0; r_2 < 4; ++r_2) {
            stored[warp][lane * 3] = A_own[0][r_2 + 1][1];
            stored[warp][lane * 3 + 1] = A_own[0][r_2 + 1][2];
            stored[warp][lane * 3 + 2] = A_own[0][r_2 + 1][3];
            __syncwarp();  // other lanes read what each has put into the strip
            #pragma unroll
            for (int v_2 = 0; v_2 < 3; ++v_2) {
                if (column_rank_4[v_2] <= row_rank_4[r_2]) A[(long long)(first_row + r_2) * n + first_column +
                        (v_2 * 32 + lane * -2)] = stored[warp][v_2 * 32 + lane];
            }
            __syncwarp();  // the next plane's columns replace those that were stored
        }
    }
}

// jacobi-2d.c:22: B[i * n + j] = 0.2f * (A[i * n + j] + A[i * n + j - 1] + A[i * n + j + 1] + A[(i + 1) * n + j]
//     + A[(i - 1) * n + j]);
// jacobi-2d.c:27: A[i * n + j] = 0.2f * (B[i * n + j] + B[i * n + j - 1] + B[i * n + j + 1] + B[(i + 1) * n + j]
//     + B[(i - 1) * n + j]);
// 6 iterations from t0 on, to the second buffers
extern "C" __global__ void __launch_bounds__(128) jacobi_2d_scop0_in(int n, int strips, int chunk,
        const float *__restrict__ B, const float *__restrict__ A, float *__restrict__ A_shadow)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;

    int warp = block * 4 + __shfl_sync(0xffffffffu, thread / 32, 0, 32);
    int lane = thread % 32;
    int chunks = (n - 2 + chunk - 1) / chunk;
    if (warp < strips * chunks) {
        int strip = warp < chunks * 2 ? (warp < chunks ? 0 : strips - 1) :
                (warp - chunks * 2) % polytile_max(strips - 2, 1) + 1;
        int first = 1 + (warp < chunks * 2 ? warp % chunks : (warp - chunks * 2) / polytile_max(strips - 2, 1)) *
                chunk;
        int tile_left = polytile_min(strip * 72, polytile_max(n - 2 + 2 - 96, 0));
        int left = tile_left + lane * 3;
        bool within = (tile_left >= 0) & (tile_left + 95 <= n - 1);
        bool regular = within;
        bool inside = regular & (tile_left - 1 >= 0) & (n - (tile_left + 95) - 2 >= 0);
        int until = polytile_min(first + chunk, n - 2 + 1);
        int begin = polytile_max(first - 12, 0);
        int end = until + 12;
        int low = inside ? polytile_min(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(begin, 12), 13), -1), 0), 1), 2), 3), 4), 5), 6), 7), 8), 9), 10), 11), end) : end;
        int high = low + polytile_max(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(end, n - 2 + 2), n - 2 + 3), n - 1), n - 1 + 1), n - 1 + 2), n - 1 + 3), n - 1 + 4), n - 1 + 5), n - 1 + 6), n - 1 + 7), n - 1 + 8), n - 1 + 9), n - 1 + 10), n - 1 + 11), n - 1 + 12) - low, 0) / 3 * 3;
        unsigned int columns_S0 = 0u;
        #pragma unroll
        for (int v = 0; v < 3; ++v) {
            columns_S0 |= (unsigned int)((left + v >= 1) & (left + v <= n - 2)) << v;
        }
        unsigned int cells_S0 = 0u;
        #pragma unroll
        for (int v = 0; v < 3; ++v) {
            cells_S0 |= (unsigned int)((columns_S0 >> v) & 1) << v;
        }
        unsigned int columns_S1 = 0u;
        #pragma unroll
        for (int v = 0; v < 3; ++v) {
            columns_S1 |= (unsigned int)((left + v >= 1) & (left + v <= n - 2)) << v;
        }
        unsigned int cells_S1 = 0u;
        #pragma unroll
        for (int v = 0; v < 3; ++v) {
            cells_S1 |= (unsigned int)((columns_S1 >> v) & 1) << v;
        }
        unsigned int there = 0u;
        #pragma unroll
        for (int v = 0; v < 3; ++v) {
            there |= (unsigned int)((left + v >= 0) & (left + v <= n - 1)) << v;
        }
        unsigned int own = 0u;
        #pragma unroll
        for (int v = 0; v < 3; ++v) {
            own |= (unsigned int)(((strip == 0) | (left + v >= strip * 72 + 12)) &
                    ((strip == strips - 1) | (left + v - tile_left < 84))) << v;
        }
        float x0[3][5] = {};
        float x1[3][5] = {};
        float x2[3][5] = {};
        float x3[3][5] = {};
        float x4[3][5] = {};
        float x5[3][5] = {};
        float x6[3][5] = {};
        float x7[3][5] = {};
        float x8[3][5] = {};
        float x9[3][5] = {};
        float x10[3][5] = {};
        float x11[3][5] = {};
        float x12[1][3] = {};
        float next0[3];
        const float *__restrict__ from0 = &A[(long long)begin * n + left];
        float *__restrict__ to12 = &A_shadow[(long long)first * n + left];
        #pragma unroll
        for (int v = 0; v < 3; ++v) {
            next0[v] = (begin >= 0) & (begin <= n - 1) & ((there >> v) & 1) ? from0[v] : 0.0f;
        }
        int start = begin;
        #pragma unroll 1
        for (int half = 0; half < 2; ++half) {
            float early1[3];
            #pragma unroll
            for (int v = 0; v < 3; ++v) {
                early1[v] = (start - 1 >= 0) & (start - 1 <= n - 1) & ((there >> v) & 1) &
                        (!((start - 1 >= 1) & (start - 1 <= n - 2) & ((cells_S0 >> v) & 1))) ?
                        B[(long long)(start - 1) * n + left + v] : 0.0f;
            }
            #pragma unroll 1
            for (int row = start; row < low; ++row) {
                #pragma unroll
                for (int v = 0; v < 3; ++v) {
                    x0[0][v + 1] = next0[v];
                }
                from0 += n;
                #pragma unroll
                for (int v = 0; v < 3; ++v) {
                    next0[v] = (row + 1 >= 0) & (row + 1 <= n - 1) & ((there >> v) & 1) ? from0[v] : 0.0f;
                }
                if (within & ((row + 3 >= 0) & (row + 3 <= n - 1))) {
                    polytile_prefetch(&from0[n * 2]);
                }
                if (within & ((row + 2 >= 0) & (row + 2 <= n - 1))) {
                    polytile_prefetch(&B[(long long)(row + 2) * n + left]);
                }
                // step 1: B after iteration t0, row - 1
                x0[1][0] = __shfl_up_sync(0xffffffffu, x0[1][3], 1, 32);
                x0[1][4] = __shfl_down_sync(0xffffffffu, x0[1][1], 1, 32);
                {
                    unsigned int made = (row - 1 >= 1) & (row - 1 <= n - 2) ? cells_S0 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x1[0][v + 1] = 0.2f * (x0[1][v + 1] + x0[1][v] + x0[1][v + 2] + x0[0][v + 1] + x0[2][v + 1]);  // jacobi-2d.c:22
                        if (!((made >> v) & 1)) {
                            x1[0][v + 1] = early1[v];
                        }
                    }
                }
                #pragma unroll
                for (int v = 0; v < 3; ++v) {
                    early1[v] = (row + 1 - 1 >= 0) & (row + 1 - 1 <= n - 1) & ((there >> v) & 1) &
                            (!((row + 1 - 1 >= 1) & (row + 1 - 1 <= n - 2) & ((cells_S0 >> v) & 1))) ?
                            B[(long long)(row + 1 - 1) * n + left + v] : 0.0f;
                }
                // step 2: A after iteration t0, row - 2
                x1[1][0] = __shfl_up_sync(0xffffffffu, x1[1][3], 1, 32);
                x1[1][4] = __shfl_down_sync(0xffffffffu, x1[1][1], 1, 32);
                {
                    unsigned int made = (row - 2 >= 1) & (row - 2 <= n - 2) ? cells_S1 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x2[0][v + 1] = 0.2f * (x1[1][v + 1] + x1[1][v] + x1[1][v + 2] + x1[0][v + 1] + x1[2][v + 1]);  // jacobi-2d.c:27
                        if (!((made >> v) & 1)) {
                            x2[0][v + 1] = x0[2][v + 1];
                        }
                    }
                }
                // step 3: B after iteration t0 + 1, row - 3
                x2[1][0] = __shfl_up_sync(0xffffffffu, x2[1][3], 1, 32);
                x2[1][4] = __shfl_down_sync(0xffffffffu, x2[1][1], 1, 32);
                {
                    unsigned int made = (row - 3 >= 1) & (row - 3 <= n - 2) ? cells_S0 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x3[0][v + 1] = 0.2f * (x2[1][v + 1] + x2[1][v] + x2[1][v + 2] + x2[0][v + 1] + x2[2][v + 1]);  // jacobi-2d.c:22
                        if (!((made >> v) & 1)) {
                            x3[0][v + 1] = x1[2][v + 1];
                        }
                    }
                }
                // step 4: A after iteration t0 + 1, row - 4
                x3[1][0] = __shfl_up_sync(0xffffffffu, x3[1][3], 1, 32);
                x3[1][4] = __shfl_down_sync(0xffffffffu, x3[1][1], 1, 32);
                {
                    unsigned int made = (row - 4 >= 1) & (row - 4 <= n - 2) ? cells_S1 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x4[0][v + 1] = 0.2f * (x3[1][v + 1] + x3[1][v] + x3[1][v + 2] + x3[0][v + 1] + x3[2][v + 1]);  // jacobi-2d.c:27
                        if (!((made >> v) & 1)) {
                            x4[0][v + 1] = x2[2][v + 1];
                        }
                    }
                }
                // step 5: B after iteration t0 + 2, row - 5
                x4[1][0] = __shfl_up_sync(0xffffffffu, x4[1][3], 1, 32);
                x4[1][4] = __shfl_down_sync(0xffffffffu, x4[1][1], 1, 32);
                {
                    unsigned int made = (row - 5 >= 1) & (row - 5 <= n - 2) ? cells_S0 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x5[0][v + 1] = 0.2f * (x4[1][v + 1] + x4[1][v] + x4[1][v + 2] + x4[0][v + 1] + x4[2][v + 1]);  // jacobi-2d.c:22
                        if (!((made >> v) & 1)) {
                            x5[0][v + 1] = x3[2][v + 1];
                        }
                    }
                }
                // step 6: A after iteration t0 + 2, row - 6
                x5[1][0] = __shfl_up_sync(0xffffffffu, x5[1][3], 1, 32);
                x5[1][4] = __shfl_down_sync(0xffffffffu, x5[1][1], 1, 32);
                {
                    unsigned int made = (row - 6 >= 1) & (row - 6 <= n - 2) ? cells_S1 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x6[0][v + 1] = 0.2f * (x5[1][v + 1] + x5[1][v] + x5[1][v + 2] + x5[0][v + 1] + x5[2][v + 1]);  // jacobi-2d.c:27
                        if (!((made >> v) & 1)) {
                            x6[0][v + 1] = x4[2][v + 1];
                        }
                    }
                }
                // step 7: B after iteration t0 + 3, row - 7
                x6[1][0] = __shfl_up_sync(0xffffffffu, x6[1][3], 1, 32);
                x6[1][4] = __shfl_down_sync(0xffffffffu, x6[1][1], 1, 32);
                {
                    unsigned int made = (row - 7 >= 1) & (row - 7 <= n - 2) ? cells_S0 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x7[0][v + 1] = 0.2f * (x6[1][v + 1] + x6[1][v] + x6[1][v + 2] + x6[0][v + 1] + x6[2][v + 1]);  // jacobi-2d.c:22
                        if (!((made >> v) & 1)) {
                            x7[0][v + 1] = x5[2][v + 1];
                        }
                    }
                }
                // step 8: A after iteration t0 + 3, row - 8
                x7[1][0] = __shfl_up_sync(0xffffffffu, x7[1][3], 1, 32);
                x7[1][4] = __shfl_down_sync(0xffffffffu, x7[1][1], 1, 32);
                {
                    unsigned int made = (row - 8 >= 1) & (row - 8 <= n - 2) ? cells_S1 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x8[0][v + 1] = 0.2f * (x7[1][v + 1] + x7[1][v] + x7[1][v + 2] + x7[0][v + 1] + x7[2][v + 1]);  // jacobi-2d.c:27
                        if (!((made >> v) & 1)) {
                            x8[0][v + 1] = x6[2][v + 1];
                        }
                    }
                }
                // step 9: B after iteration t0 + 4, row - 9
                x8[1][0] = __shfl_up_sync(0xffffffffu, x8[1][3], 1, 32);
                x8[1][4] = __shfl_down_sync(0xffffffffu, x8[1][1], 1, 32);
                {
                    unsigned int made = (row - 9 >= 1) & (row - 9 <= n - 2) ? cells_S0 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x9[0][v + 1] = 0.2f * (x8[1][v + 1] + x8[1][v] + x8[1][v + 2] + x8[0][v + 1] + x8[2][v + 1]);  // jacobi-2d.c:22
                        if (!((made >> v) & 1)) {
                            x9[0][v + 1] = x7[2][v + 1];
                        }
                    }
                }
                // step 10: A after iteration t0 + 4, row - 10
                x9[1][0] = __shfl_up_sync(0xffffffffu, x9[1][3], 1, 32);
                x9[1][4] = __shfl_down_sync(0xffffffffu, x9[1][1], 1, 32);
                {
                    unsigned int made = (row - 10 >= 1) & (row - 10 <= n - 2) ? cells_S1 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x10[0][v + 1] = 0.2f * (x9[1][v + 1] + x9[1][v] + x9[1][v + 2] + x9[0][v + 1] + x9[2][v + 1]);  // jacobi-2d.c:27
                        if (!((made >> v) & 1)) {
                            x10[0][v + 1] = x8[2][v + 1];
                        }
                    }
                }
                // step 11: B after iteration t0 + 5, row - 11
                x10[1][0] = __shfl_up_sync(0xffffffffu, x10[1][3], 1, 32);
                x10[1][4] = __shfl_down_sync(0xffffffffu, x10[1][1], 1, 32);
                {
                    unsigned int made = (row - 11 >= 1) & (row - 11 <= n - 2) ? cells_S0 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x11[0][v + 1] = 0.2f * (x10[1][v + 1] + x10[1][v] + x10[1][v + 2] + x10[0][v + 1] + x10[2][v + 1]);  // jacobi-2d.c:22
                        if (!((made >> v) & 1)) {
                            x11[0][v + 1] = x9[2][v + 1];
                        }
                    }
                }
                // step 12: A after iteration t0 + 5, row - 12
                x11[1][0] = __shfl_up_sync(0xffffffffu, x11[1][3], 1, 32);
                x11[1][4] = __shfl_down_sync(0xffffffffu, x11[1][1], 1, 32);
                {
                    unsigned int made = (row - 12 >= 1) & (row - 12 <= n - 2) ? cells_S1 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x12[0][v] = 0.2f * (x11[1][v + 1] + x11[1][v] + x11[1][v + 2] + x11[0][v + 1] + x11[2][v + 1]);  // jacobi-2d.c:27
                        if (!((made >> v) & 1)) {
                            x12[0][v] = x10[2][v + 1];
                        }
                    }
                }
                if (row - 12 >= first) {
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        if ((own >> v) & 1 & ((there >> v) & 1)) to12[v] = x12[0][v];
                    }
                    to12 += n;
                }
                #pragma unroll
                for (int v = 0; v < 3; ++v) {
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
                    x8[2][v + 1] = x8[1][v + 1];
                    x8[1][v + 1] = x8[0][v + 1];
                    x9[2][v + 1] = x9[1][v + 1];
                    x9[1][v + 1] = x9[0][v + 1];
                    x10[2][v + 1] = x10[1][v + 1];
                    x10[1][v + 1] = x10[0][v + 1];
                    x11[2][v + 1] = x11[1][v + 1];
                    x11[1][v + 1] = x11[0][v + 1];
                }
            }
            #pragma unroll 1
            for (int group = polytile_max(start, low); group < high; group += 3) {
                #pragma unroll
                for (int turn = 0; turn < 3; ++turn) {
                    int row = group + turn;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x0[0][v + 1] = next0[v];
                    }
                    from0 += n;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        next0[v] = from0[v];
                    }
                    if (row + 2 < high) {
                        polytile_prefetch(&from0[n * 2]);
                    }
                    // step 1: B after iteration t0, row - 1
                    x0[1][0] = __shfl_up_sync(0xffffffffu, x0[1][3], 1, 32);
                    x0[1][4] = __shfl_down_sync(0xffffffffu, x0[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x1[0][v + 1] = 0.2f * (x0[1][v + 1] + x0[1][v] + x0[1][v + 2] + x0[0][v + 1] + x0[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 2: A after iteration t0, row - 2
                    x1[1][0] = __shfl_up_sync(0xffffffffu, x1[1][3], 1, 32);
                    x1[1][4] = __shfl_down_sync(0xffffffffu, x1[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x2[0][v + 1] = 0.2f * (x1[1][v + 1] + x1[1][v] + x1[1][v + 2] + x1[0][v + 1] + x1[2][v + 1]);  // jacobi-2d.c:27
                    }
                    // step 3: B after iteration t0 + 1, row - 3
                    x2[1][0] = __shfl_up_sync(0xffffffffu, x2[1][3], 1, 32);
                    x2[1][4] = __shfl_down_sync(0xffffffffu, x2[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x3[0][v + 1] = 0.2f * (x2[1][v + 1] + x2[1][v] + x2[1][v + 2] + x2[0][v + 1] + x2[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 4: A after iteration t0 + 1, row - 4
                    x3[1][0] = __shfl_up_sync(0xffffffffu, x3[1][3], 1, 32);
                    x3[1][4] = __shfl_down_sync(0xffffffffu, x3[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x4[0][v + 1] = 0.2f * (x3[1][v + 1] + x3[1][v] + x3[1][v + 2] + x3[0][v + 1] + x3[2][v + 1]);  // jacobi-2d.c:27
                    }
                    // step 5: B after iteration t0 + 2, row - 5
                    x4[1][0] = __shfl_up_sync(0xffffffffu, x4[1][3], 1, 32);
                    x4[1][4] = __shfl_down_sync(0xffffffffu, x4[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x5[0][v + 1] = 0.2f * (x4[1][v + 1] + x4[1][v] + x4[1][v + 2] + x4[0][v + 1] + x4[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 6: A after iteration t0 + 2, row - 6
                    x5[1][0] = __shfl_up_sync(0xffffffffu, x5[1][3], 1, 32);
                    x5[1][4] = __shfl_down_sync(0xffffffffu, x5[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x6[0][v + 1] = 0.2f * (x5[1][v + 1] + x5[1][v] + x5[1][v + 2] + x5[0][v + 1] + x5[2][v + 1]);  // jacobi-2d.c:27
                    }
                    // step 7: B after iteration t0 + 3, row - 7
                    x6[1][0] = __shfl_up_sync(0xffffffffu, x6[1][3], 1, 32);
                    x6[1][4] = __shfl_down_sync(0xffffffffu, x6[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x7[0][v + 1] = 0.2f * (x6[1][v + 1] + x6[1][v] + x6[1][v + 2] + x6[0][v + 1] + x6[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 8: A after iteration t0 + 3, row - 8
                    x7[1][0] = __shfl_up_sync(0xffffffffu, x7[1][3], 1, 32);
                    x7[1][4] = __shfl_down_sync(0xffffffffu, x7[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x8[0][v + 1] = 0.2f * (x7[1][v + 1] + x7[1][v] + x7[1][v + 2] + x7[0][v + 1] + x7[2][v + 1]);  // jacobi-2d.c:27
                    }
                    // step 9: B after iteration t0 + 4, row - 9
                    x8[1][0] = __shfl_up_sync(0xffffffffu, x8[1][3], 1, 32);
                    x8[1][4] = __shfl_down_sync(0xffffffffu, x8[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x9[0][v + 1] = 0.2f * (x8[1][v + 1] + x8[1][v] + x8[1][v + 2] + x8[0][v + 1] + x8[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 10: A after iteration t0 + 4, row - 10
                    x9[1][0] = __shfl_up_sync(0xffffffffu, x9[1][3], 1, 32);
                    x9[1][4] = __shfl_down_sync(0xffffffffu, x9[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x10[0][v + 1] = 0.2f * (x9[1][v + 1] + x9[1][v] + x9[1][v + 2] + x9[0][v + 1] + x9[2][v + 1]);  // jacobi-2d.c:27
                    }
                    // step 11: B after iteration t0 + 5, row - 11
                    x10[1][0] = __shfl_up_sync(0xffffffffu, x10[1][3], 1, 32);
                    x10[1][4] = __shfl_down_sync(0xffffffffu, x10[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x11[0][v + 1] = 0.2f * (x10[1][v + 1] + x10[1][v] + x10[1][v + 2] + x10[0][v + 1] + x10[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 12: A after iteration t0 + 5, row - 12
                    x11[1][0] = __shfl_up_sync(0xffffffffu, x11[1][3], 1, 32);
                    x11[1][4] = __shfl_down_sync(0xffffffffu, x11[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x12[0][v] = 0.2f * (x11[1][v + 1] + x11[1][v] + x11[1][v + 2] + x11[0][v + 1] + x11[2][v + 1]);  // jacobi-2d.c:27
                    }
                    if (row - 12 >= first) {
                        #pragma unroll
                        for (int v = 0; v < 3; ++v) {
                            if ((own >> v) & 1) to12[v] = x12[0][v];
                        }
                        to12 += n;
                    }
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
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
                        x8[2][v + 1] = x8[1][v + 1];
                        x8[1][v + 1] = x8[0][v + 1];
                        x9[2][v + 1] = x9[1][v + 1];
                        x9[1][v + 1] = x9[0][v + 1];
                        x10[2][v + 1] = x10[1][v + 1];
                        x10[1][v + 1] = x10[0][v + 1];
                        x11[2][v + 1] = x11[1][v + 1];
                        x11[1][v + 1] = x11[0][v + 1];
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
// 6 iterations from t1 on, from the second buffers
extern "C" __global__ void __launch_bounds__(128) jacobi_2d_scop0_out(int n, int strips, int chunk,
        int is_last, float *__restrict__ B, float *__restrict__ A, const float *__restrict__ A_shadow)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;

    int warp = block * 4 + __shfl_sync(0xffffffffu, thread / 32, 0, 32);
    int lane = thread % 32;
    int chunks = (n - 2 + chunk - 1) / chunk;
    if (warp < strips * chunks) {
        int strip = warp < chunks * 2 ? (warp < chunks ? 0 : strips - 1) :
                (warp - chunks * 2) % polytile_max(strips - 2, 1) + 1;
        int first = 1 + (warp < chunks * 2 ? warp % chunks : (warp - chunks * 2) / polytile_max(strips - 2, 1)) *
                chunk;
        int tile_left = polytile_min(strip * 72, polytile_max(n - 2 + 2 - 96, 0));
        int left = tile_left + lane * 3;
        bool within = (tile_left >= 0) & (tile_left + 95 <= n - 1);
        bool regular = within;
        bool inside = regular & (tile_left - 1 >= 0) & (n - (tile_left + 95) - 2 >= 0);
        int until = polytile_min(first + chunk, n - 2 + 1);
        int begin = polytile_max(first - 12, 0);
        int end = until + 12;
        int low = inside ? polytile_min(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(polytile_max(begin, 12), 13), 0), 1), 2), 3), 4), 5), 6), 7), 8), 9), 10), 11), end) : end;
        int high = low + polytile_max(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(polytile_min(end, n - 2 + 2), n - 2 + 3), n - 2), n - 1 + 1), n - 1 + 2), n - 1 + 3), n - 1 + 4), n - 1 + 5), n - 1 + 6), n - 1 + 7), n - 1 + 8), n - 1 + 9), n - 1 + 10), n - 1 + 11), n - 1 + 12) - low, 0) / 3 * 3;
        unsigned int columns_S0 = 0u;
        #pragma unroll
        for (int v = 0; v < 3; ++v) {
            columns_S0 |= (unsigned int)((left + v >= 1) & (left + v <= n - 2)) << v;
        }
        unsigned int cells_S0 = 0u;
        #pragma unroll
        for (int v = 0; v < 3; ++v) {
            cells_S0 |= (unsigned int)((columns_S0 >> v) & 1) << v;
        }
        unsigned int columns_S1 = 0u;
        #pragma unroll
        for (int v = 0; v < 3; ++v) {
            columns_S1 |= (unsigned int)((left + v >= 1) & (left + v <= n - 2)) << v;
        }
        unsigned int cells_S1 = 0u;
        #pragma unroll
        for (int v = 0; v < 3; ++v) {
            cells_S1 |= (unsigned int)((columns_S1 >> v) & 1) << v;
        }
        unsigned int there = 0u;
        #pragma unroll
        for (int v = 0; v < 3; ++v) {
            there |= (unsigned int)((left + v >= 0) & (left + v <= n - 1)) << v;
        }
        unsigned int own = 0u;
        #pragma unroll
        for (int v = 0; v < 3; ++v) {
            own |= (unsigned int)(((strip == 0) | (left + v >= strip * 72 + 12)) &
                    ((strip == strips - 1) | (left + v - tile_left < 84))) << v;
        }
        float x0[3][5] = {};
        float x1[3][5] = {};
        float x2[3][5] = {};
        float x3[3][5] = {};
        float x4[3][5] = {};
        float x5[3][5] = {};
        float x6[3][5] = {};
        float x7[3][5] = {};
        float x8[3][5] = {};
        float x9[3][5] = {};
        float x10[3][5] = {};
        float x11[3][5] = {};
        float x12[1][3] = {};
        float next0[3];
        const float *__restrict__ from0 = &A_shadow[(long long)begin * n + left];
        float *to11 = &B[(long long)first * n + left];
        float *to12 = &A[(long long)first * n + left];
        if ((begin >= 1) & (begin <= n - 2)) {
            #pragma unroll
            for (int v = 0; v < 3; ++v) {
                next0[v] = (there >> v) & 1 ? from0[v] : 0.0f;
            }
        } else {
            const float *ahead = &A[(long long)begin * n + left];
            #pragma unroll
            for (int v = 0; v < 3; ++v) {
                next0[v] = (begin >= 0) & (begin <= n - 1) & ((there >> v) & 1) ? ahead[v] : 0.0f;
            }
        }
        int start = begin;
        #pragma unroll 1
        for (int half = 0; half < 2; ++half) {
            float early1[3];
            #pragma unroll
            for (int v = 0; v < 3; ++v) {
                early1[v] = (start - 1 >= 0) & (start - 1 <= n - 1) & ((there >> v) & 1) &
                        (!((start - 1 >= 1) & (start - 1 <= n - 2) & ((cells_S0 >> v) & 1))) ?
                        B[(long long)(start - 1) * n + left + v] : 0.0f;
            }
            #pragma unroll 1
            for (int row = start; row < low; ++row) {
                #pragma unroll
                for (int v = 0; v < 3; ++v) {
                    x0[0][v + 1] = next0[v];
                }
                from0 += n;
                if ((row + 1 >= 1) & (row + 1 <= n - 2)) {
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        next0[v] = (there >> v) & 1 ? from0[v] : 0.0f;
                    }
                } else {
                    const float *ahead = &A[(long long)(row + 1) * n + left];
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
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
                x0[1][0] = __shfl_up_sync(0xffffffffu, x0[1][3], 1, 32);
                x0[1][4] = __shfl_down_sync(0xffffffffu, x0[1][1], 1, 32);
                {
                    unsigned int made = (row - 1 >= 1) & (row - 1 <= n - 2) ? cells_S0 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x1[0][v + 1] = 0.2f * (x0[1][v + 1] + x0[1][v] + x0[1][v + 2] + x0[0][v + 1] + x0[2][v + 1]);  // jacobi-2d.c:22
                        if (!((made >> v) & 1)) {
                            x1[0][v + 1] = early1[v];
                        }
                    }
                }
                #pragma unroll
                for (int v = 0; v < 3; ++v) {
                    early1[v] = (row + 1 - 1 >= 0) & (row + 1 - 1 <= n - 1) & ((there >> v) & 1) &
                            (!((row + 1 - 1 >= 1) & (row + 1 - 1 <= n - 2) & ((cells_S0 >> v) & 1))) ?
                            B[(long long)(row + 1 - 1) * n + left + v] : 0.0f;
                }
                // step 2: A after iteration t1, row - 2
                x1[1][0] = __shfl_up_sync(0xffffffffu, x1[1][3], 1, 32);
                x1[1][4] = __shfl_down_sync(0xffffffffu, x1[1][1], 1, 32);
                {
                    unsigned int made = (row - 2 >= 1) & (row - 2 <= n - 2) ? cells_S1 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x2[0][v + 1] = 0.2f * (x1[1][v + 1] + x1[1][v] + x1[1][v + 2] + x1[0][v + 1] + x1[2][v + 1]);  // jacobi-2d.c:27
                        if (!((made >> v) & 1)) {
                            x2[0][v + 1] = x0[2][v + 1];
                        }
                    }
                }
                // step 3: B after iteration t1 + 1, row - 3
                x2[1][0] = __shfl_up_sync(0xffffffffu, x2[1][3], 1, 32);
                x2[1][4] = __shfl_down_sync(0xffffffffu, x2[1][1], 1, 32);
                {
                    unsigned int made = (row - 3 >= 1) & (row - 3 <= n - 2) ? cells_S0 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x3[0][v + 1] = 0.2f * (x2[1][v + 1] + x2[1][v] + x2[1][v + 2] + x2[0][v + 1] + x2[2][v + 1]);  // jacobi-2d.c:22
                        if (!((made >> v) & 1)) {
                            x3[0][v + 1] = x1[2][v + 1];
                        }
                    }
                }
                // step 4: A after iteration t1 + 1, row - 4
                x3[1][0] = __shfl_up_sync(0xffffffffu, x3[1][3], 1, 32);
                x3[1][4] = __shfl_down_sync(0xffffffffu, x3[1][1], 1, 32);
                {
                    unsigned int made = (row - 4 >= 1) & (row - 4 <= n - 2) ? cells_S1 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x4[0][v + 1] = 0.2f * (x3[1][v + 1] + x3[1][v] + x3[1][v + 2] + x3[0][v + 1] + x3[2][v + 1]);  // jacobi-2d.c:27
                        if (!((made >> v) & 1)) {
                            x4[0][v + 1] = x2[2][v + 1];
                        }
                    }
                }
                // step 5: B after iteration t1 + 2, row - 5
                x4[1][0] = __shfl_up_sync(0xffffffffu, x4[1][3], 1, 32);
                x4[1][4] = __shfl_down_sync(0xffffffffu, x4[1][1], 1, 32);
                {
                    unsigned int made = (row - 5 >= 1) & (row - 5 <= n - 2) ? cells_S0 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x5[0][v + 1] = 0.2f * (x4[1][v + 1] + x4[1][v] + x4[1][v + 2] + x4[0][v + 1] + x4[2][v + 1]);  // jacobi-2d.c:22
                        if (!((made >> v) & 1)) {
                            x5[0][v + 1] = x3[2][v + 1];
                        }
                    }
                }
                // step 6: A after iteration t1 + 2, row - 6
                x5[1][0] = __shfl_up_sync(0xffffffffu, x5[1][3], 1, 32);
                x5[1][4] = __shfl_down_sync(0xffffffffu, x5[1][1], 1, 32);
                {
                    unsigned int made = (row - 6 >= 1) & (row - 6 <= n - 2) ? cells_S1 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x6[0][v + 1] = 0.2f * (x5[1][v + 1] + x5[1][v] + x5[1][v + 2] + x5[0][v + 1] + x5[2][v + 1]);  // jacobi-2d.c:27
                        if (!((made >> v) & 1)) {
                            x6[0][v + 1] = x4[2][v + 1];
                        }
                    }
                }
                // step 7: B after iteration t1 + 3, row - 7
                x6[1][0] = __shfl_up_sync(0xffffffffu, x6[1][3], 1, 32);
                x6[1][4] = __shfl_down_sync(0xffffffffu, x6[1][1], 1, 32);
                {
                    unsigned int made = (row - 7 >= 1) & (row - 7 <= n - 2) ? cells_S0 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x7[0][v + 1] = 0.2f * (x6[1][v + 1] + x6[1][v] + x6[1][v + 2] + x6[0][v + 1] + x6[2][v + 1]);  // jacobi-2d.c:22
                        if (!((made >> v) & 1)) {
                            x7[0][v + 1] = x5[2][v + 1];
                        }
                    }
                }
                // step 8: A after iteration t1 + 3, row - 8
                x7[1][0] = __shfl_up_sync(0xffffffffu, x7[1][3], 1, 32);
                x7[1][4] = __shfl_down_sync(0xffffffffu, x7[1][1], 1, 32);
                {
                    unsigned int made = (row - 8 >= 1) & (row - 8 <= n - 2) ? cells_S1 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x8[0][v + 1] = 0.2f * (x7[1][v + 1] + x7[1][v] + x7[1][v + 2] + x7[0][v + 1] + x7[2][v + 1]);  // jacobi-2d.c:27
                        if (!((made >> v) & 1)) {
                            x8[0][v + 1] = x6[2][v + 1];
                        }
                    }
                }
                // step 9: B after iteration t1 + 4, row - 9
                x8[1][0] = __shfl_up_sync(0xffffffffu, x8[1][3], 1, 32);
                x8[1][4] = __shfl_down_sync(0xffffffffu, x8[1][1], 1, 32);
                {
                    unsigned int made = (row - 9 >= 1) & (row - 9 <= n - 2) ? cells_S0 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x9[0][v + 1] = 0.2f * (x8[1][v + 1] + x8[1][v] + x8[1][v + 2] + x8[0][v + 1] + x8[2][v + 1]);  // jacobi-2d.c:22
                        if (!((made >> v) & 1)) {
                            x9[0][v + 1] = x7[2][v + 1];
                        }
                    }
                }
                // step 10: A after iteration t1 + 4, row - 10
                x9[1][0] = __shfl_up_sync(0xffffffffu, x9[1][3], 1, 32);
                x9[1][4] = __shfl_down_sync(0xffffffffu, x9[1][1], 1, 32);
                {
                    unsigned int made = (row - 10 >= 1) & (row - 10 <= n - 2) ? cells_S1 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x10[0][v + 1] = 0.2f * (x9[1][v + 1] + x9[1][v] + x9[1][v + 2] + x9[0][v + 1] + x9[2][v + 1]);  // jacobi-2d.c:27
                        if (!((made >> v) & 1)) {
                            x10[0][v + 1] = x8[2][v + 1];
                        }
                    }
                }
                // step 11: B after iteration t1 + 5, row - 11
                x10[1][0] = __shfl_up_sync(0xffffffffu, x10[1][3], 1, 32);
                x10[1][4] = __shfl_down_sync(0xffffffffu, x10[1][1], 1, 32);
                {
                    unsigned int made = (row - 11 >= 1) & (row - 11 <= n - 2) ? cells_S0 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x11[0][v + 1] = 0.2f * (x10[1][v + 1] + x10[1][v] + x10[1][v + 2] + x10[0][v + 1] + x10[2][v + 1]);  // jacobi-2d.c:22
                        if (!((made >> v) & 1)) {
                            x11[0][v + 1] = x9[2][v + 1];
                        }
                    }
                }
                if ((row - 11 >= first) & (row - 11 < until) & is_last) {
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        if ((own >> v) & 1 & ((row - 11 >= 1) & (row - 11 <= n - 2) & ((cells_S0 >> v) & 1))) to11[v] = x11[0][v + 1];
                    }
                    to11 += n;
                }
                // step 12: A after iteration t1 + 5, row - 12
                x11[1][0] = __shfl_up_sync(0xffffffffu, x11[1][3], 1, 32);
                x11[1][4] = __shfl_down_sync(0xffffffffu, x11[1][1], 1, 32);
                {
                    unsigned int made = (row - 12 >= 1) & (row - 12 <= n - 2) ? cells_S1 : 0u;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x12[0][v] = 0.2f * (x11[1][v + 1] + x11[1][v] + x11[1][v + 2] + x11[0][v + 1] + x11[2][v + 1]);  // jacobi-2d.c:27
                        if (!((made >> v) & 1)) {
                            x12[0][v] = x10[2][v + 1];
                        }
                    }
                }
                if (row - 12 >= first) {
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        if ((own >> v) & 1 & ((row - 12 >= 1) & (row - 12 <= n - 2) & ((cells_S1 >> v) & 1))) to12[v] = x12[0][v];
                    }
                    to12 += n;
                }
                #pragma unroll
                for (int v = 0; v < 3; ++v) {
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
                    x8[2][v + 1] = x8[1][v + 1];
                    x8[1][v + 1] = x8[0][v + 1];
                    x9[2][v + 1] = x9[1][v + 1];
                    x9[1][v + 1] = x9[0][v + 1];
                    x10[2][v + 1] = x10[1][v + 1];
                    x10[1][v + 1] = x10[0][v + 1];
                    x11[2][v + 1] = x11[1][v + 1];
                    x11[1][v + 1] = x11[0][v + 1];
                }
            }
            #pragma unroll 1
            for (int group = polytile_max(start, low); group < high; group += 3) {
                #pragma unroll
                for (int turn = 0; turn < 3; ++turn) {
                    int row = group + turn;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x0[0][v + 1] = next0[v];
                    }
                    from0 += n;
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        next0[v] = from0[v];
                    }
                    if (row + 2 < high) {
                        polytile_prefetch(&from0[n * 2]);
                    }
                    // step 1: B after iteration t1, row - 1
                    x0[1][0] = __shfl_up_sync(0xffffffffu, x0[1][3], 1, 32);
                    x0[1][4] = __shfl_down_sync(0xffffffffu, x0[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x1[0][v + 1] = 0.2f * (x0[1][v + 1] + x0[1][v] + x0[1][v + 2] + x0[0][v + 1] + x0[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 2: A after iteration t1, row - 2
                    x1[1][0] = __shfl_up_sync(0xffffffffu, x1[1][3], 1, 32);
                    x1[1][4] = __shfl_down_sync(0xffffffffu, x1[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x2[0][v + 1] = 0.2f * (x1[1][v + 1] + x1[1][v] + x1[1][v + 2] + x1[0][v + 1] + x1[2][v + 1]);  // jacobi-2d.c:27
                    }
                    // step 3: B after iteration t1 + 1, row - 3
                    x2[1][0] = __shfl_up_sync(0xffffffffu, x2[1][3], 1, 32);
                    x2[1][4] = __shfl_down_sync(0xffffffffu, x2[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x3[0][v + 1] = 0.2f * (x2[1][v + 1] + x2[1][v] + x2[1][v + 2] + x2[0][v + 1] + x2[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 4: A after iteration t1 + 1, row - 4
                    x3[1][0] = __shfl_up_sync(0xffffffffu, x3[1][3], 1, 32);
                    x3[1][4] = __shfl_down_sync(0xffffffffu, x3[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x4[0][v + 1] = 0.2f * (x3[1][v + 1] + x3[1][v] + x3[1][v + 2] + x3[0][v + 1] + x3[2][v + 1]);  // jacobi-2d.c:27
                    }
                    // step 5: B after iteration t1 + 2, row - 5
                    x4[1][0] = __shfl_up_sync(0xffffffffu, x4[1][3], 1, 32);
                    x4[1][4] = __shfl_down_sync(0xffffffffu, x4[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x5[0][v + 1] = 0.2f * (x4[1][v + 1] + x4[1][v] + x4[1][v + 2] + x4[0][v + 1] + x4[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 6: A after iteration t1 + 2, row - 6
                    x5[1][0] = __shfl_up_sync(0xffffffffu, x5[1][3], 1, 32);
                    x5[1][4] = __shfl_down_sync(0xffffffffu, x5[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x6[0][v + 1] = 0.2f * (x5[1][v + 1] + x5[1][v] + x5[1][v + 2] + x5[0][v + 1] + x5[2][v + 1]);  // jacobi-2d.c:27
                    }
                    // step 7: B after iteration t1 + 3, row - 7
                    x6[1][0] = __shfl_up_sync(0xffffffffu, x6[1][3], 1, 32);
                    x6[1][4] = __shfl_down_sync(0xffffffffu, x6[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x7[0][v + 1] = 0.2f * (x6[1][v + 1] + x6[1][v] + x6[1][v + 2] + x6[0][v + 1] + x6[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 8: A after iteration t1 + 3, row - 8
                    x7[1][0] = __shfl_up_sync(0xffffffffu, x7[1][3], 1, 32);
                    x7[1][4] = __shfl_down_sync(0xffffffffu, x7[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x8[0][v + 1] = 0.2f * (x7[1][v + 1] + x7[1][v] + x7[1][v + 2] + x7[0][v + 1] + x7[2][v + 1]);  // jacobi-2d.c:27
                    }
                    // step 9: B after iteration t1 + 4, row - 9
                    x8[1][0] = __shfl_up_sync(0xffffffffu, x8[1][3], 1, 32);
                    x8[1][4] = __shfl_down_sync(0xffffffffu, x8[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x9[0][v + 1] = 0.2f * (x8[1][v + 1] + x8[1][v] + x8[1][v + 2] + x8[0][v + 1] + x8[2][v + 1]);  // jacobi-2d.c:22
                    }
                    // step 10: A after iteration t1 + 4, row - 10
                    x9[1][0] = __shfl_up_sync(0xffffffffu, x9[1][3], 1, 32);
                    x9[1][4] = __shfl_down_sync(0xffffffffu, x9[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x10[0][v + 1] = 0.2f * (x9[1][v + 1] + x9[1][v] + x9[1][v + 2] + x9[0][v + 1] + x9[2][v + 1]);  // jacobi-2d.c:27
                    }
                    // step 11: B after iteration t1 + 5, row - 11
                    x10[1][0] = __shfl_up_sync(0xffffffffu, x10[1][3], 1, 32);
                    x10[1][4] = __shfl_down_sync(0xffffffffu, x10[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x11[0][v + 1] = 0.2f * (x10[1][v + 1] + x10[1][v] + x10[1][v + 2] + x10[0][v + 1] + x10[2][v + 1]);  // jacobi-2d.c:22
                    }
                    if ((row - 11 >= first) & (row - 11 < until) & is_last) {
                        #pragma unroll
                        for (int v = 0; v < 3; ++v) {
                            if ((own >> v) & 1) to11[v] = x11[0][v + 1];
                        }
                        to11 += n;
                    }
                    // step 12: A after iteration t1 + 5, row - 12
                    x11[1][0] = __shfl_up_sync(0xffffffffu, x11[1][3], 1, 32);
                    x11[1][4] = __shfl_down_sync(0xffffffffu, x11[1][1], 1, 32);
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
                        x12[0][v] = 0.2f * (x11[1][v + 1] + x11[1][v] + x11[1][v + 2] + x11[0][v + 1] + x11[2][v + 1]);  // jacobi-2d.c:27
                    }
                    if (row - 12 >= first) {
                        #pragma unroll
                        for (int v = 0; v < 3; ++v) {
                            if ((own >> v) & 1) to12[v] = x12[0][v];
                        }
                        to12 += n;
                    }
                    #pragma unroll
                    for (int v = 0; v < 3; ++v) {
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
                        x8[2][v + 1] = x8[1][v + 1];
                        x8[1][v + 1] = x8[0][v + 1];
                        x9[2][v + 1] = x9[1][v + 1];
                        x9[1][v + 1] = x9[0][v + 1];
                        x10[2][v + 1] = x10[1][v + 1];
                        x10[1][v + 1] = x10[0][v + 1];
                        x11[2][v + 1] = x11[1][v + 1];
                        x11[1][v + 1] = x11[0][v + 1];
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
