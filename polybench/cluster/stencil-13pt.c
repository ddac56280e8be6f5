/*
 * stencil-13pt: every interior element becomes a weighted sum of itself, of the six elements at a
 * distance of 1 on the axes and of the six at a distance of 2, from one plane of A to the other,
 * in each of the tsteps steps; the two outermost layers of the array stay.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(3, 8, 24, 100, 100)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(12, 36, 132, 260, 516)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(13, 40, 140, 260, 516)
#endif
#ifndef NZ
#define NZ POLYBENCH_SIZE(14, 44, 148, 260, 516)
#endif

static void kernel_stencil_13pt(int tsteps, int nx, int ny, int nz, DATA_TYPE coef0,
                                DATA_TYPE coef1, DATA_TYPE coef2, DATA_TYPE A[2][nx][ny][nz])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 2; i < nx - 2; i++)
            for (int j = 2; j < ny - 2; j++)
                for (int k = 2; k < nz - 2; k++)
                    A[(t + 1) % 2][i][j][k] =
                        coef1 *
                            (A[t % 2][i - 1][j][k] + A[t % 2][i + 1][j][k] +
                             A[t % 2][i][j - 1][k] + A[t % 2][i][j + 1][k] +
                             A[t % 2][i][j][k - 1] + A[t % 2][i][j][k + 1]) +
                        coef2 *
                            (A[t % 2][i - 2][j][k] + A[t % 2][i + 2][j][k] +
                             A[t % 2][i][j - 2][k] + A[t % 2][i][j + 2][k] +
                             A[t % 2][i][j][k - 2] + A[t % 2][i][j][k + 2]) +
                        coef0 * A[t % 2][i][j][k];
#pragma endscop
}

int main(void)
{
    int tsteps = TSTEPS;
    int nx = NX;
    int ny = NY;
    int nz = NZ;
    DATA_TYPE coef0 = SCALAR_VAL(0.4);
    DATA_TYPE coef1 = SCALAR_VAL(0.07);
    DATA_TYPE coef2 = SCALAR_VAL(0.03);
    DATA_TYPE(*A)[POLYBENCH_EXTENT(nx)][POLYBENCH_EXTENT(ny)][POLYBENCH_EXTENT(nz)] =
        polybench_alloc_data(2, sizeof *A);

    stencil_init_planes(A, 1, nx, ny, nz);
    polybench_input("coef0", &coef0, 1);
    polybench_input("coef1", &coef1, 1);
    polybench_input("coef2", &coef2, 1);
    polybench_input("A", A, 2 * (size_t) nx * ny * nz);

    polybench_start_instruments;
    kernel_stencil_13pt(tsteps, nx, ny, nz, coef0, coef1, coef2, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 2 * (size_t) nx * ny * nz);
    free(A);
    return 0;
}
