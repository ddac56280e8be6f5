// star3d2r.c:28: A[(t + 1) % 2][i][j][k] = 0.2500f * A[t % 2][i][j][k] + 0.06255f * A[t % 2][i - 2][j][k] +
//     0.0626f * A[t % 2][i + 2][j][k] + 0.0620f * A[t % 2][i - 1][j][k] + 0.0621f * A[t % 2][i + 1][j][k] +
//     0.0627f * A[t % 2][i][j - 2][k] + 0.0628f * A[t % 2][i][j + 2][k] + 0.0622f * A[t % 2][i][j - 1][k] +
//     0.0623f * A[t % 2][i][j + 1][k] + 0.0629f * A[t % 2][i][j][k - 2] + 0.0630f * A[t % 2][i][j][k + 2] +
//     0.0624f * A[t % 2][i][j][k - 1] + 0.06245f * A[t % 2][i][j][k + 1];
// classic (fused) schedule; blocks: bi = z, bj = y, bk = x; 32 x 4 x 2 threads
extern "C" __global__ void __launch_bounds__(256) kernel_star3d2r_scop0_k0(int nx, int ny, int nz, int t,
        float *__restrict__ A)
{
    const int bk = blockIdx.x;
    const int tk = threadIdx.x;
    const int tj = threadIdx.y;
    const int ti = threadIdx.z;

    polytile_await_launches();
    for (int bj = blockIdx.y; bj <= (ny - 3) / 8; bj += gridDim.y) {
        for (int bi = blockIdx.z; bi < (nx + 1) / 4; bi += gridDim.z) {
            if (ti + 2 * bi >= 1 && nx >= 2 * ti + 4 * bi + 4 && tj + 4 * bj >= 1 && ny >= 2 * tj + 8 * bj + 4 && nz >=
                    tk + 32 * bk + 3 && tk + 32 * bk >= 2) {
                int i = 2 * ti + 4 * bi;  // star3d2r.c:28
                int j = 2 * tj + 8 * bj;
                int k = tk + 32 * bk;
                float v0 = A[(((long long)(t % 2) * nx + i) * ny + j) * nz + k];
                float v1 = 0.2500f * v0;
                float v2 = 0.0622f * v0;
                float v3 = 0.0620f * v0;
                float v4 = v1 + 0.06255f * A[(((long long)(t % 2) * nx + i - 2) * ny + j) * nz + k];
                float v5 = A[(((long long)(t % 2) * nx + i + 2) * ny + j) * nz + k];
                float v6 = v4 + 0.0626f * v5;
                float v7 = 0.0621f * v5;
                float v8 = A[(((long long)(t % 2) * nx + i - 1) * ny + j) * nz + k];
                float v9 = v6 + 0.0620f * v8;
                float v10 = 0.06255f * v8;
                float v11 = A[(((long long)(t % 2) * nx + i + 1) * ny + j) * nz + k];
                float v12 = v9 + 0.0621f * v11;
                float v13 = 0.2500f * v11 + v10;
                float v14 = 0.0622f * v11;
                float v15 = v12 + 0.0627f * A[(((long long)(t % 2) * nx + i) * ny + j - 2) * nz + k];
                float v16 = A[(((long long)(t % 2) * nx + i) * ny + j + 2) * nz + k];
                float v17 = v15 + 0.0628f * v16;
                float v18 = 0.0623f * v16;
                float v19 = A[(((long long)(t % 2) * nx + i) * ny + j - 1) * nz + k];
                float v20 = v17 + 0.0622f * v19;
                float v21 = 0.0627f * v19;
                float v22 = A[(((long long)(t % 2) * nx + i) * ny + j + 1) * nz + k];
                float v23 = v20 + 0.0623f * v22;
                float v24 = 0.2500f * v22;
                float v25 = 0.0620f * v22;
                float v26 = v23 + 0.0629f * A[(((long long)(t % 2) * nx + i) * ny + j) * nz + k - 2];
                float v27 = v26 + 0.0630f * A[(((long long)(t % 2) * nx + i) * ny + j) * nz + k + 2];
                float v28 = v27 + 0.0624f * A[(((long long)(t % 2) * nx + i) * ny + j) * nz + k - 1];
                float v29 = v28 + 0.06245f * A[(((long long)(t % 2) * nx + i) * ny + j) * nz + k + 1];
                float v30 = v24 + 0.06255f * A[(((long long)(t % 2) * nx + i - 2) * ny + j + 1) * nz + k];
                float v31 = A[(((long long)(t % 2) * nx + i + 2) * ny + j + 1) * nz + k];
                float v32 = v30 + 0.0626f * v31;
                float v33 = 0.0621f * v31;
                float v34 = A[(((long long)(t % 2) * nx + i - 1) * ny + j + 1) * nz + k];
                float v35 = v32 + 0.0620f * v34;
                float v36 = 0.06255f * v34;
                float v37 = A[(((long long)(t % 2) * nx + i + 1) * ny + j + 1) * nz + k];
                float v38 = v35 + 0.0621f * v37 + v21;
                float v39 = 0.0623f * v37;
                float v40 = 0.2500f * v37 + v36;
                float v41 = v38 + 0.0628f * A[(((long long)(t % 2) * nx + i) * ny + j + 3) * nz + k] + v2 + v18;
                float v42 = v41 + 0.0629f * A[(((long long)(t % 2) * nx + i) * ny + j + 1) * nz + k - 2];
                float v43 = v42 + 0.0630f * A[(((long long)(t % 2) * nx + i) * ny + j + 1) * nz + k + 2];
                float v44 = v43 + 0.0624f * A[(((long long)(t % 2) * nx + i) * ny + j + 1) * nz + k - 1];
                float v45 = v44 + 0.06245f * A[(((long long)(t % 2) * nx + i) * ny + j + 1) * nz + k + 1];
                float v46 = v13 + 0.0626f * A[(((long long)(t % 2) * nx + i + 3) * ny + j) * nz + k] + v3 + v7;
                float v47 = v46 + 0.0627f * A[(((long long)(t % 2) * nx + i + 1) * ny + j - 2) * nz + k];
                float v48 = A[(((long long)(t % 2) * nx + i + 1) * ny + j + 2) * nz + k];
                float v49 = v47 + 0.0628f * v48;
                float v50 = 0.0623f * v48;
                float v51 = A[(((long long)(t % 2) * nx + i + 1) * ny + j - 1) * nz + k];
                float v52 = v49 + 0.0622f * v51 + v39;
                float v53 = 0.0627f * v51;
                float v54 = v52 + 0.0629f * A[(((long long)(t % 2) * nx + i + 1) * ny + j) * nz + k - 2];
                float v55 = v54 + 0.0630f * A[(((long long)(t % 2) * nx + i + 1) * ny + j) * nz + k + 2];
                float v56 = v55 + 0.0624f * A[(((long long)(t % 2) * nx + i + 1) * ny + j) * nz + k - 1];
                float v57 = v56 + 0.06245f * A[(((long long)(t % 2) * nx + i + 1) * ny + j) * nz + k + 1];
                float v58 = v40 + 0.0626f * A[(((long long)(t % 2) * nx + i + 3) * ny + j + 1) * nz + k] + v25 + v33 + v53;
                float v59 = v58 + 0.0628f * A[(((long long)(t % 2) * nx + i + 1) * ny + j + 3) * nz + k] + v14 + v50;
                float v60 = v59 + 0.0629f * A[(((long long)(t % 2) * nx + i + 1) * ny + j + 1) * nz + k - 2];
                float v61 = v60 + 0.0630f * A[(((long long)(t % 2) * nx + i + 1) * ny + j + 1) * nz + k + 2];
                float v62 = v61 + 0.0624f * A[(((long long)(t % 2) * nx + i + 1) * ny + j + 1) * nz + k - 1];
                float v63 = v62 + 0.06245f * A[(((long long)(t % 2) * nx + i + 1) * ny + j + 1) * nz + k + 1];
                A[(((long long)((t + 1) % 2) * nx + i) * ny + j) * nz + k] = v29;
                A[(((long long)((t + 1) % 2) * nx + i) * ny + j + 1) * nz + k] = v45;
                A[(((long long)((t + 1) % 2) * nx + i + 1) * ny + j) * nz + k] = v57;
                A[(((long long)((t + 1) % 2) * nx + i + 1) * ny + j + 1) * nz + k] = v63;
            } else if (ti + 2 * bi >= 1 && tj + 4 * bj >= 1 && nz >= tk + 32 * bk + 3 && tk + 32 * bk >= 2) {
                #pragma unroll 1
                for (int c_7 = 0; c_7 < polytile_min(2, nx - 2 * ti - 4 * bi - 2); ++c_7) {
                    #pragma unroll 1
                    for (int c_8 = 0; c_8 < polytile_min(2, ny - 2 * tj - 8 * bj - 2); ++c_8) {
                        int i = 2 * ti + 4 * bi + c_7;  // star3d2r.c:28
                        int j = 2 * tj + 8 * bj + c_8;
                        int k = tk + 32 * bk;
                        A[(((long long)((t + 1) % 2) * nx + i) * ny + j) * nz + k] =
                                0.2500f * A[(((long long)(t % 2) * nx + i) * ny + j) * nz + k] +
                                0.06255f * A[(((long long)(t % 2) * nx + i - 2) * ny + j) * nz + k] +
                                0.0626f * A[(((long long)(t % 2) * nx + i + 2) * ny + j) * nz + k] +
                                0.0620f * A[(((long long)(t % 2) * nx + i - 1) * ny + j) * nz + k] +
                                0.0621f * A[(((long long)(t % 2) * nx + i + 1) * ny + j) * nz + k] +
                                0.0627f * A[(((long long)(t % 2) * nx + i) * ny + j - 2) * nz + k] +
                                0.0628f * A[(((long long)(t % 2) * nx + i) * ny + j + 2) * nz + k] +
                                0.0622f * A[(((long long)(t % 2) * nx + i) * ny + j - 1) * nz + k] +
                                0.0623f * A[(((long long)(t % 2) * nx + i) * ny + j + 1) * nz + k] +
                                0.0629f * A[(((long long)(t % 2) * nx + i) * ny + j) * nz + k - 2] +
                                0.0630f * A[(((long long)(t % 2) * nx + i) * ny + j) * nz + k + 2] +
                                0.0624f * A[(((long long)(t % 2) * nx + i) * ny + j) * nz + k - 1] +
                                0.06245f * A[(((long long)(t % 2) * nx + i) * ny + j) * nz + k + 1];
                    }
                }
            }
        }
    }
}
