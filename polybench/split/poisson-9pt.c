/*
 * poisson-9pt: the nine-point operator of the Poisson equation applied tsteps times: eight times
 * every interior element less the sum of its eight neighbours, from one plane of A to the other;
 * the border stays. Values grow by a factor of up to 16 in each step, so that few steps fit into
 * float.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(3, 8, 16, 24, 24)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(24, 128, 1024, 4096, 8192)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(26, 136, 1056, 4096, 8192)
#endif

static void kernel_poisson_9pt(int tsteps, int nx, int ny, DATA_TYPE A[2][nx][ny])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
                A[(t + 1) % 2][i][j] =
                    SCALAR_VAL(8.0) * A[t % 2][i][j] -
                    (A[t % 2][i - 1][j - 1] + A[t % 2][i - 1][j] + A[t % 2][i - 1][j + 1] +
                     A[t % 2][i][j - 1] + A[t % 2][i][j + 1] +
                     A[t % 2][i + 1][j - 1] + A[t % 2][i + 1][j] + A[t % 2][i + 1][j + 1]);
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
    kernel_poisson_9pt(tsteps, nx, ny, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 2 * (size_t) nx * ny);
    free(A);
    return 0;
}
