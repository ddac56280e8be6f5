/*
 * star2d3r: every interior element becomes a weighted sum of itself and of the elements at a
 * distance of 1 to 3 on the two axes, from one plane of A to the other, in each of the tsteps
 * steps; the three outermost layers of the array stay. All weights differ.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(3, 8, 24, 120, 1000)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(22, 134, 1030, 16390, 16390)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(24, 142, 1062, 16390, 16390)
#endif

static void kernel_star2d3r(int tsteps, int nx, int ny, DATA_TYPE A[2][nx][ny])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 3; i < nx - 3; i++)
            for (int j = 3; j < ny - 3; j++)
                A[(t + 1) % 2][i][j] =
                    SCALAR_VAL(0.25002) * A[t % 2][i][j] +
                    SCALAR_VAL(0.06251) * A[t % 2][i - 3][j] + SCALAR_VAL(0.06254) * A[t % 2][i + 3][j] +
                    SCALAR_VAL(0.06255) * A[t % 2][i - 2][j] + SCALAR_VAL(0.06242) * A[t % 2][i + 2][j] +
                    SCALAR_VAL(0.06245) * A[t % 2][i - 1][j] + SCALAR_VAL(0.06246) * A[t % 2][i + 1][j] +
                    SCALAR_VAL(0.06252) * A[t % 2][i][j - 3] + SCALAR_VAL(0.06253) * A[t % 2][i][j + 3] +
                    SCALAR_VAL(0.06249) * A[t % 2][i][j - 2] + SCALAR_VAL(0.06243) * A[t % 2][i][j + 2] +
                    SCALAR_VAL(0.06244) * A[t % 2][i][j - 1] + SCALAR_VAL(0.06248) * A[t % 2][i][j + 1];
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
    kernel_star2d3r(tsteps, nx, ny, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 2 * (size_t) nx * ny);
    free(A);
    return 0;
}
