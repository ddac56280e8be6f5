/*
 * stencil-7pt: every interior element becomes a weighted sum of itself and of its six neighbours,
 * from one plane of A to the other, in each of the tsteps steps; the border stays.
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

static void kernel_stencil_7pt(int tsteps, int nx, int ny, int nz, DATA_TYPE alpha,
                               DATA_TYPE beta, DATA_TYPE A[2][nx][ny][nz])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
                for (int k = 1; k < nz - 1; k++)
                    A[(t + 1) % 2][i][j][k] =
                        beta *
                            (A[t % 2][i - 1][j][k] + A[t % 2][i + 1][j][k] +
                             A[t % 2][i][j - 1][k] + A[t % 2][i][j + 1][k] +
                             A[t % 2][i][j][k - 1] + A[t % 2][i][j][k + 1]) +
                        alpha * A[t % 2][i][j][k];
#pragma endscop
}

int main(void)
{
    int tsteps = TSTEPS;
    int nx = NX;
    int ny = NY;
    int nz = NZ;
    DATA_TYPE alpha = SCALAR_VAL(0.4);
    DATA_TYPE beta = SCALAR_VAL(0.1);
    DATA_TYPE(*A)[POLYBENCH_EXTENT(nx)][POLYBENCH_EXTENT(ny)][POLYBENCH_EXTENT(nz)] =
        polybench_alloc_data(2, sizeof *A);

    stencil_init_planes(A, 1, nx, ny, nz);
    polybench_input("alpha", &alpha, 1);
    polybench_input("beta", &beta, 1);
    polybench_input("A", A, 2 * (size_t) nx * ny * nz);

    polybench_start_instruments;
    kernel_stencil_7pt(tsteps, nx, ny, nz, alpha, beta, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 2 * (size_t) nx * ny * nz);
    free(A);
    return 0;
}
