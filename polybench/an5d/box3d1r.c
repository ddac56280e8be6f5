/*
 * box3d1r: every interior element becomes a weighted sum of the 3 x 3 x 3 elements around it, from
 * one plane of A to the other, in each of the tsteps steps; the border stays. All weights differ.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(3, 8, 24, 120, 1000)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(8, 34, 130, 514, 514)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(9, 38, 138, 514, 514)
#endif
#ifndef NZ
#define NZ POLYBENCH_SIZE(10, 42, 146, 514, 514)
#endif

static void kernel_box3d1r(int tsteps, int nx, int ny, int nz, DATA_TYPE A[2][nx][ny][nz])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
                for (int k = 1; k < nz - 1; k++)
                    A[(t + 1) % 2][i][j][k] =
                        STENCIL_ROW_3(A[t % 2][i - 1][j - 1], k, 0.0371, 0.0372, 0.0373) +
                        STENCIL_ROW_3(A[t % 2][i - 1][j], k, 0.0374, 0.0375, 0.0376) +
                        STENCIL_ROW_3(A[t % 2][i - 1][j + 1], k, 0.0377, 0.0378, 0.0379) +
                        STENCIL_ROW_3(A[t % 2][i][j - 1], k, 0.0351, 0.0352, 0.0353) +
                        STENCIL_ROW_3(A[t % 2][i][j], k, 0.0354, 0.0355, 0.0356) +
                        STENCIL_ROW_3(A[t % 2][i][j + 1], k, 0.0357, 0.0358, 0.0359) +
                        STENCIL_ROW_3(A[t % 2][i + 1][j - 1], k, 0.0361, 0.0362, 0.0363) +
                        STENCIL_ROW_3(A[t % 2][i + 1][j], k, 0.0364, 0.0365, 0.0366) +
                        STENCIL_ROW_3(A[t % 2][i + 1][j + 1], k, 0.0367, 0.0368, 0.0369);
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
    kernel_box3d1r(tsteps, nx, ny, nz, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 2 * (size_t) nx * ny * nz);
    free(A);
    return 0;
}
