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
    for (int bj = blockIdx.y; bj < (ny + 1) / 4; bj += gridDim.y) {
        for (int bi = 1 + blockIdx.z; bi < (nx + 1) / 2 - 1; bi += gridDim.z) {
            int i = ti + 2 * bi;  // star3d2r.c:28
            int j = tj + 4 * bj;
            int k = tk + 32 * bk;
            if (nx >= i + 3 && ny >= j + 3 && j >= 2 && nz >= k + 3 && k >= 2) {
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
