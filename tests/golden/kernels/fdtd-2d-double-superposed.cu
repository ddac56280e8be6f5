// fdtd-2d.c:47: ey[0][j] = _fict_[t];
// superposed schedule; blocks: bj = x; 128 x 1 x 1 threads
extern "C" __global__ void __launch_bounds__(128) kernel_fdtd_2d_scop0_k0(int ny, int t,
        double *__restrict__ ey, const double *__restrict__ polytile__fict_)
{
    const int bj = blockIdx.x;
    const int tj = threadIdx.x;

    polytile_await_launches();
    {
        int j = tj + 128 * bj;  // fdtd-2d.c:47
        if (ny >= j + 1) {
            ey[j] = polytile__fict_[t];
        }
    }
}

// fdtd-2d.c:50: ey[i][j] = ey[i][j] - 0.5 * (hz[i][j] - hz[i - 1][j]);
// fdtd-2d.c:53: ex[i][j] = ex[i][j] - 0.5 * (hz[i][j] - hz[i][j - 1]);
// superposed schedule; blocks: bi = y, bj = x; 32 x 8 x 1 threads
extern "C" __global__ void __launch_bounds__(256) kernel_fdtd_2d_scop0_k1(int ny, int nx,
        double *__restrict__ ey, const double *hz, double *__restrict__ ex)
{
    const int bj = gridDim.x - 1 - blockIdx.x;
    const int tj = threadIdx.x;
    const int ti = threadIdx.y;

    polytile_await_launches();
    for (int bi = gridDim.y - 1 - blockIdx.y; bi <= (nx - 1) / 8; bi += gridDim.y) {
        int i = ti + 8 * bi;  // fdtd-2d.c:50
        int j = tj + 32 * bj;
        if (i >= 1 && nx >= i + 1 && ny >= j + 1) {
            ey[(long long)i * ny + j] = ey[(long long)i * ny + j] - 0.5 *
                    (hz[(long long)i * ny + j] - hz[(long long)(i - 1) * ny + j]);
        }
        if (nx >= i + 1 && j >= 1 && ny >= j + 1) {
            ex[(long long)i * ny + j] = ex[(long long)i * ny + j] - 0.5 *
                    (hz[(long long)i * ny + j] - hz[(long long)i * ny + j - 1]);  // fdtd-2d.c:53
        }
    }
}

// fdtd-2d.c:56: hz[i][j] = hz[i][j] - 0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
// superposed schedule; blocks: bi = y, bj = x; 32 x 8 x 1 threads
extern "C" __global__ void __launch_bounds__(256) kernel_fdtd_2d_scop0_k2(int ny, int nx, const double *ey,
        double *__restrict__ hz, const double *ex)
{
    const int bj = blockIdx.x;
    const int tj = threadIdx.x;
    const int ti = threadIdx.y;

    polytile_await_launches();
    for (int bi = blockIdx.y; bi <= (nx - 2) / 8; bi += gridDim.y) {
        int i = ti + 8 * bi;  // fdtd-2d.c:56
        int j = tj + 32 * bj;
        if (nx >= i + 2 && ny >= j + 2) {
            hz[(long long)i * ny + j] = hz[(long long)i * ny + j] - 0.7 *
                    (ex[(long long)i * ny + j + 1] - ex[(long long)i * ny + j] + ey[(long long)(i + 1) * ny + j] -
                    ey[(long long)i * ny + j]);
        }
    }
}
