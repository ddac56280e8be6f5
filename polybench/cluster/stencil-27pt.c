/*
 * stencil-27pt: every interior element becomes a weighted sum of the 27 elements around it, with
 * one weight for itself, one for the faces, one for the edges and one for the corners of the cube
 * around it, from one plane of A to the other, in each of the tsteps steps; the border stays.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(3, 8, 24, 100, 100)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(10, 34, 130, 258, 514)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(11, 38, 138, 258, 514)
#endif
#ifndef NZ
#define NZ POLYBENCH_SIZE(12, 42, 146, 258, 514)
#endif

static void kernel_stencil_27pt(int tsteps, int nx, int ny, int nz, DATA_TYPE coef0,
                                DATA_TYPE coef1, DATA_TYPE coef2, DATA_TYPE coef3,
                                DATA_TYPE A[2][nx][ny][nz])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
                for (int k = 1; k < nz - 1; k++)
                    A[(t + 1) % 2][i][j][k] =
                        coef0 * A[t % 2][i][j][k] +
                        coef1 *
                            (A[t % 2][i - 1][j][k] + A[t % 2][i + 1][j][k] +
                             A[t % 2][i][j - 1][k] + A[t % 2][i][j + 1][k] +
                             A[t % 2][i][j][k - 1] + A[t % 2][i][j][k + 1]) +
                        coef2 *
                            (A[t % 2][i - 1][j - 1][k] + A[t % 2][i - 1][j][k - 1] +
                             A[t % 2][i - 1][j][k + 1] + A[t % 2][i - 1][j + 1][k] +
                             A[t % 2][i][j - 1][k - 1] + A[t % 2][i][j - 1][k + 1] +
                             A[t % 2][i][j + 1][k - 1] + A[t % 2][i][j + 1][k + 1] +
                             A[t % 2][i + 1][j - 1][k] + A[t % 2][i + 1][j][k - 1] +
                             A[t % 2][i + 1][j][k + 1] + A[t % 2][i + 1][j + 1][k]) +
                        coef3 *
                            (A[t % 2][i - 1][j - 1][k - 1] + A[t % 2][i - 1][j - 1][k + 1] +
                             A[t % 2][i - 1][j + 1][k - 1] + A[t % 2][i - 1][j + 1][k + 1] +
                             A[t % 2][i + 1][j - 1][k - 1] + A[t % 2][i + 1][j - 1][k + 1] +
                             A[t % 2][i + 1][j + 1][k - 1] + A[t % 2][i + 1][j + 1][k + 1]);
#pragma endscop
}

int main(void)
{
    int tsteps = TSTEPS;
    int nx = NX;
    int ny = NY;
    int nz = NZ;
    DATA_TYPE coef0 = SCALAR_VAL(0.2);
    DATA_TYPE coef1 = SCALAR_VAL(0.05);
    DATA_TYPE coef2 = SCALAR_VAL(0.03);
    DATA_TYPE coef3 = SCALAR_VAL(0.0175);
    DATA_TYPE(*A)[POLYBENCH_EXTENT(nx)][POLYBENCH_EXTENT(ny)][POLYBENCH_EXTENT(nz)] =
        polybench_alloc_data(2, sizeof *A);

    stencil_init_planes(A, 1, nx, ny, nz);
    polybench_input("coef0", &coef0, 1);
    polybench_input("coef1", &coef1, 1);
    polybench_input("coef2", &coef2, 1);
    polybench_input("coef3", &coef3, 1);
    polybench_input("A", A, 2 * (size_t) nx * ny * nz);

    polybench_start_instruments;
    kernel_stencil_27pt(tsteps, nx, ny, nz, coef0, coef1, coef2, coef3, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 2 * (size_t) nx * ny * nz);
    free(A);
    return 0;
}
