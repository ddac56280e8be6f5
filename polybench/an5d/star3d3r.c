/*
 * star3d3r: every interior element becomes a weighted sum of itself and of the elements at a
 * distance of 1 to 3 on the three axes, from one plane of A to the other, in each of the tsteps
 * steps; the three outermost layers of the array stay. All weights differ.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(3, 8, 24, 120, 1000)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(12, 38, 134, 518, 518)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(13, 42, 142, 518, 518)
#endif
#ifndef NZ
#define NZ POLYBENCH_SIZE(14, 46, 150, 518, 518)
#endif

static void kernel_star3d3r(int tsteps, int nx, int ny, int nz, DATA_TYPE A[2][nx][ny][nz])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 3; i < nx - 3; i++)
            for (int j = 3; j < ny - 3; j++)
                for (int k = 3; k < nz - 3; k++)
                    A[(t + 1) % 2][i][j][k] =
                        SCALAR_VAL(0.25000) * A[t % 2][i][j][k] +
                        SCALAR_VAL(0.04296) * A[t % 2][i - 3][j][k] +
                        SCALAR_VAL(0.04266) * A[t % 2][i + 3][j][k] +
                        SCALAR_VAL(0.04196) * A[t % 2][i - 2][j][k] +
                        SCALAR_VAL(0.04166) * A[t % 2][i + 2][j][k] +
                        SCALAR_VAL(0.04096) * A[t % 2][i - 1][j][k] +
                        SCALAR_VAL(0.04066) * A[t % 2][i + 1][j][k] +
                        SCALAR_VAL(0.04286) * A[t % 2][i][j - 3][k] +
                        SCALAR_VAL(0.04256) * A[t % 2][i][j + 3][k] +
                        SCALAR_VAL(0.04186) * A[t % 2][i][j - 2][k] +
                        SCALAR_VAL(0.04156) * A[t % 2][i][j + 2][k] +
                        SCALAR_VAL(0.04086) * A[t % 2][i][j - 1][k] +
                        SCALAR_VAL(0.04056) * A[t % 2][i][j + 1][k] +
                        SCALAR_VAL(0.04276) * A[t % 2][i][j][k - 3] +
                        SCALAR_VAL(0.04246) * A[t % 2][i][j][k + 3] +
                        SCALAR_VAL(0.04176) * A[t % 2][i][j][k - 2] +
                        SCALAR_VAL(0.04146) * A[t % 2][i][j][k + 2] +
                        SCALAR_VAL(0.04076) * A[t % 2][i][j][k - 1] +
                        SCALAR_VAL(0.04046) * A[t % 2][i][j][k + 1];
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
    kernel_star3d3r(tsteps, nx, ny, nz, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 2 * (size_t) nx * ny * nz);
    free(A);
    return 0;
}
