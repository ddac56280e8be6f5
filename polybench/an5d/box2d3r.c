/*
 * box2d3r: every interior element becomes a weighted sum of the 7 x 7 elements around it, from one
 * plane of A to the other, in each of the tsteps steps; the three outermost layers of the array
 * stay. All weights differ.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(3, 8, 24, 42, 1000)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(22, 134, 1030, 16390, 16390)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(24, 142, 1062, 16390, 16390)
#endif

static void kernel_box2d3r(int tsteps, int nx, int ny, DATA_TYPE A[2][nx][ny])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 3; i < nx - 3; i++)
            for (int j = 3; j < ny - 3; j++)
                A[(t + 1) % 2][i][j] =
                    STENCIL_ROW_7(A[t % 2][i - 3], j,
                        0.01530, 0.01531, 0.01532, 0.01533, 0.01534, 0.01535, 0.01536) +
                    STENCIL_ROW_7(A[t % 2][i - 2], j,
                        0.01537, 0.01538, 0.01539, 0.01540, 0.01541, 0.01542, 0.01543) +
                    STENCIL_ROW_7(A[t % 2][i - 1], j,
                        0.01544, 0.01545, 0.01546, 0.01547, 0.01548, 0.01549, 0.01550) +
                    STENCIL_ROW_7(A[t % 2][i], j,
                        0.01551, 0.01552, 0.01553, 0.25424, 0.01555, 0.01556, 0.01557) +
                    STENCIL_ROW_7(A[t % 2][i + 1], j,
                        0.01558, 0.01559, 0.01560, 0.01561, 0.01562, 0.01563, 0.01564) +
                    STENCIL_ROW_7(A[t % 2][i + 2], j,
                        0.01565, 0.01566, 0.01567, 0.01568, 0.01569, 0.01570, 0.01571) +
                    STENCIL_ROW_7(A[t % 2][i + 3], j,
                        0.01572, 0.01573, 0.01574, 0.01575, 0.01576, 0.01577, 0.01578);
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
    kernel_box2d3r(tsteps, nx, ny, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 2 * (size_t) nx * ny);
    free(A);
    return 0;
}
