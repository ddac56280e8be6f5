/*
 * star2d1r: every interior element becomes a weighted sum of itself and of the elements at a
 * distance of 1 on the two axes, from one plane of A to the other, in each of the tsteps steps;
 * the border stays. All weights differ.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(3, 8, 24, 120, 1000)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(18, 130, 1026, 16386, 16386)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(20, 138, 1058, 16386, 16386)
#endif

static void kernel_star2d1r(int tsteps, int nx, int ny, DATA_TYPE A[2][nx][ny])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
                A[(t + 1) % 2][i][j] =
                    SCALAR_VAL(0.2500) * A[t % 2][i][j] +
                    SCALAR_VAL(0.1873) * A[t % 2][i - 1][j] + SCALAR_VAL(0.1874) * A[t % 2][i + 1][j] +
                    SCALAR_VAL(0.1876) * A[t % 2][i][j - 1] + SCALAR_VAL(0.1877) * A[t % 2][i][j + 1];
#pragma endscop
}

int main(void)
{
    int tsteps = TSTEPS;
    int nx = NX;
    int ny = NY;
    DATA_TYPE(*A)[POLYBENCH_EXTENT(nx)][POLYBENCH_EXTENT(ny)] = polybench_alloc_data(2, sizeof *A);

    stencil_init_planes(A, 1, nx, ny, 1);
    polybench_input("A", A, 2 * (size_t) nx * ny);

    polybench_start_instruments;
    kernel_star2d1r(tsteps, nx, ny, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 2 * (size_t) nx * ny);
    free(A);
    return 0;
}
