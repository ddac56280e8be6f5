/*
 * j2d5pt: every interior element becomes a weighted sum of itself and its four neighbours, from
 * one plane of A to the other, in each of the tsteps steps; the border stays. The weights add up
 * to less than 1.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(3, 4, 4, 4, 16)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(24, 128, 1024, 8192, 16384)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(26, 136, 1056, 8192, 16384)
#endif

static void kernel_j2d5pt(int tsteps, int nx, int ny, DATA_TYPE A[2][nx][ny])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
                A[(t + 1) % 2][i][j] =
                    (SCALAR_VAL(5.0) * A[t % 2][i - 1][j] +
                     STENCIL_ROW_3(A[t % 2][i], j, 12.0, 15.0, 12.0) +
                     SCALAR_VAL(5.0) * A[t % 2][i + 1][j]) / SCALAR_VAL(118.0);
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
    kernel_j2d5pt(tsteps, nx, ny, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 2 * (size_t) nx * ny);
    free(A);
    return 0;
}
