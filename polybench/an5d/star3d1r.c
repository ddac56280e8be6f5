/*
 * star3d1r: every interior element becomes a weighted sum of itself and of the elements at a
 * distance of 1 on the three axes, from one plane of A to the other, in each of the tsteps steps;
 * the border stays. All weights differ.
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

static void kernel_star3d1r(int tsteps, int nx, int ny, int nz, DATA_TYPE A[2][nx][ny][nz])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
                for (int k = 1; k < nz - 1; k++)
                    A[(t + 1) % 2][i][j][k] =
                        SCALAR_VAL(0.2500) * A[t % 2][i][j][k] +
                        SCALAR_VAL(0.1248) * A[t % 2][i - 1][j][k] +
                        SCALAR_VAL(0.1249) * A[t % 2][i + 1][j][k] +
                        SCALAR_VAL(0.1250) * A[t % 2][i][j - 1][k] +
                        SCALAR_VAL(0.1251) * A[t % 2][i][j + 1][k] +
                        SCALAR_VAL(0.1252) * A[t % 2][i][j][k - 1] +
                        SCALAR_VAL(0.1253) * A[t % 2][i][j][k + 1];
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
    kernel_star3d1r(tsteps, nx, ny, nz, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 2 * (size_t) nx * ny * nz);
    free(A);
    return 0;
}
