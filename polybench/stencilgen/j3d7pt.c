/*
 * j3d7pt: every interior element becomes a weighted sum of itself and its six neighbours, from one
 * plane of A to the other, in each of the tsteps steps; the border stays. All weights differ;
 * values grow by a factor of up to 2.7 in each step.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(3, 4, 4, 4, 16)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(10, 32, 128, 512, 768)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(11, 36, 136, 512, 768)
#endif
#ifndef NZ
#define NZ POLYBENCH_SIZE(12, 40, 144, 512, 768)
#endif

static void kernel_j3d7pt(int tsteps, int nx, int ny, int nz, DATA_TYPE A[2][nx][ny][nz])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
                for (int k = 1; k < nz - 1; k++)
                    A[(t + 1) % 2][i][j][k] =
                        SCALAR_VAL(0.166) * A[t % 2][i - 1][j][k] +
                        SCALAR_VAL(0.165) * A[t % 2][i + 1][j][k] +
                        SCALAR_VAL(0.164) * A[t % 2][i][j - 1][k] +
                        SCALAR_VAL(0.163) * A[t % 2][i][j + 1][k] +
                        SCALAR_VAL(0.162) * A[t % 2][i][j][k - 1] +
                        SCALAR_VAL(0.161) * A[t % 2][i][j][k + 1] -
                        SCALAR_VAL(1.67) * A[t % 2][i][j][k];
#pragma endscop
}

int main(void)
{
    int tsteps = TSTEPS;
    int nx = NX;
    int ny = NY;
    int nz = NZ;
    DATA_TYPE(*A)[POLYBENCH_EXTENT(nx)][POLYBENCH_EXTENT(ny)][POLYBENCH_EXTENT(nz)] =
        polybench_alloc_data(2, sizeof *A);

    stencil_init_planes(A, 1, nx, ny, nz);
    polybench_input("A", A, 2 * (size_t) nx * ny * nz);

    polybench_start_instruments;
    kernel_j3d7pt(tsteps, nx, ny, nz, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 2 * (size_t) nx * ny * nz);
    free(A);
    return 0;
}
