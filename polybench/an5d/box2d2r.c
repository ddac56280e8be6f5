/*
 * box2d2r: every interior element becomes a weighted sum of the 5 x 5 elements around it, from one
 * plane of A to the other, in each of the tsteps steps; the two outermost layers of the array
 * stay. All weights differ.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(3, 8, 24, 80, 1000)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(20, 132, 1028, 16388, 16388)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(22, 140, 1060, 16388, 16388)
#endif

static void kernel_box2d2r(int tsteps, int nx, int ny, DATA_TYPE A[2][nx][ny])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 2; i < nx - 2; i++)
            for (int j = 2; j < ny - 2; j++)
                A[(t + 1) % 2][i][j] =
                    STENCIL_ROW_5(A[t % 2][i - 2], j, 0.03125, 0.03126, 0.03127, 0.03128, 0.03129) +
                    STENCIL_ROW_5(A[t % 2][i - 1], j, 0.03130, 0.03131, 0.03132, 0.03133, 0.03134) +
                    STENCIL_ROW_5(A[t % 2][i], j, 0.03135, 0.03136, 0.24712, 0.03138, 0.03139) +
                    STENCIL_ROW_5(A[t % 2][i + 1], j, 0.03140, 0.03141, 0.03142, 0.03143, 0.03144) +
                    STENCIL_ROW_5(A[t % 2][i + 2], j, 0.03145, 0.03146, 0.03147, 0.03148, 0.03149);
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
    kernel_box2d2r(tsteps, nx, ny, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 2 * (size_t) nx * ny);
    free(A);
    return 0;
}
