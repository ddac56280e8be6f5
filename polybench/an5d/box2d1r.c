/*
 * box2d1r: every interior element becomes a weighted sum of the 3 x 3 elements around it, from one
 * plane of A to the other, in each of the tsteps steps; the border stays. All weights differ.
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

static void kernel_box2d1r(int tsteps, int nx, int ny, DATA_TYPE A[2][nx][ny])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
                A[(t + 1) % 2][i][j] =
                    STENCIL_ROW_3(A[t % 2][i - 1], j, 0.09371, 0.09374, 0.09376) +
                    STENCIL_ROW_3(A[t % 2][i], j, 0.09372, 0.25001, 0.09377) +
                    STENCIL_ROW_3(A[t % 2][i + 1], j, 0.09373, 0.09375, 0.09378);
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
    kernel_box2d1r(tsteps, nx, ny, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 2 * (size_t) nx * ny);
    free(A);
    return 0;
}
