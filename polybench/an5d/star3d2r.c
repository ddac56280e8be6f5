/*
 * star3d2r: every interior element becomes a weighted sum of itself and of the elements at a
 * distance of 1 to 2 on the three axes, from one plane of A to the other, in each of the tsteps
 * steps; the two outermost layers of the array stay. All weights differ.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(3, 8, 24, 120, 1000)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(10, 36, 132, 516, 516)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(11, 40, 140, 516, 516)
#endif
#ifndef NZ
#define NZ POLYBENCH_SIZE(12, 44, 148, 516, 516)
#endif

static void kernel_star3d2r(int tsteps, int nx, int ny, int nz, DATA_TYPE A[2][nx][ny][nz])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 2; i < nx - 2; i++)
            for (int j = 2; j < ny - 2; j++)
                for (int k = 2; k < nz - 2; k++)
                    A[(t + 1) % 2][i][j][k] =
                        SCALAR_VAL(0.2500) * A[t % 2][i][j][k] +
                        SCALAR_VAL(0.06255) * A[t % 2][i - 2][j][k] +
                        SCALAR_VAL(0.0626) * A[t % 2][i + 2][j][k] +
                        SCALAR_VAL(0.0620) * A[t % 2][i - 1][j][k] +
                        SCALAR_VAL(0.0621) * A[t % 2][i + 1][j][k] +
                        SCALAR_VAL(0.0627) * A[t % 2][i][j - 2][k] +
                        SCALAR_VAL(0.0628) * A[t % 2][i][j + 2][k] +
                        SCALAR_VAL(0.0622) * A[t % 2][i][j - 1][k] +
                        SCALAR_VAL(0.0623) * A[t % 2][i][j + 1][k] +
                        SCALAR_VAL(0.0629) * A[t % 2][i][j][k - 2] +
                        SCALAR_VAL(0.0630) * A[t % 2][i][j][k + 2] +
                        SCALAR_VAL(0.0624) * A[t % 2][i][j][k - 1] +
                        SCALAR_VAL(0.06245) * A[t % 2][i][j][k + 1];
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
    kernel_star3d2r(tsteps, nx, ny, nz, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 2 * (size_t) nx * ny * nz);
    free(A);
    return 0;
}
