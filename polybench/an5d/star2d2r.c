/*
 * star2d2r: every interior element becomes a weighted sum of itself and of the elements at a
 * distance of 1 to 2 on the two axes, from one plane of A to the other, in each of the tsteps
 * steps; the two outermost layers of the array stay. All weights differ.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(3, 8, 24, 120, 1000)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(20, 132, 1028, 16388, 16388)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(22, 140, 1060, 16388, 16388)
#endif

static void kernel_star2d2r(int tsteps, int nx, int ny, DATA_TYPE A[2][nx][ny])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 2; i < nx - 2; i++)
            for (int j = 2; j < ny - 2; j++)
                A[(t + 1) % 2][i][j] =
                    SCALAR_VAL(0.25001) * A[t % 2][i][j] +
                    SCALAR_VAL(0.09371) * A[t % 2][i - 2][j] + SCALAR_VAL(0.09378) * A[t % 2][i + 2][j] +
                    SCALAR_VAL(0.09374) * A[t % 2][i - 1][j] + SCALAR_VAL(0.09375) * A[t % 2][i + 1][j] +
                    SCALAR_VAL(0.09376) * A[t % 2][i][j - 2] + SCALAR_VAL(0.09373) * A[t % 2][i][j + 2] +
                    SCALAR_VAL(0.09372) * A[t % 2][i][j - 1] + SCALAR_VAL(0.09377) * A[t % 2][i][j + 1];
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
    kernel_star2d2r(tsteps, nx, ny, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 2 * (size_t) nx * ny);
    free(A);
    return 0;
}
