/*
 * box2d4r: every interior element becomes a weighted sum of the 9 x 9 elements around it, from one
 * plane of A to the other, in each of the tsteps steps; the four outermost layers of the array
 * stay. All weights differ.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(3, 8, 24, 24, 1000)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(24, 136, 1032, 16392, 16392)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(26, 144, 1064, 16392, 16392)
#endif

static void kernel_box2d4r(int tsteps, int nx, int ny, DATA_TYPE A[2][nx][ny])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 4; i < nx - 4; i++)
            for (int j = 4; j < ny - 4; j++)
                A[(t + 1) % 2][i][j] =
                    STENCIL_ROW_9(A[t % 2][i - 4], j,
                        0.00930, 0.00931, 0.00932, 0.00933, 0.00934, 0.00935, 0.00936, 0.00937, 0.00938) +
                    STENCIL_ROW_9(A[t % 2][i - 3], j,
                        0.00939, 0.00940, 0.00941, 0.00942, 0.00943, 0.00944, 0.00945, 0.00946, 0.00947) +
                    STENCIL_ROW_9(A[t % 2][i - 2], j,
                        0.00948, 0.00949, 0.00950, 0.00951, 0.00952, 0.00953, 0.00954, 0.00955, 0.00956) +
                    STENCIL_ROW_9(A[t % 2][i - 1], j,
                        0.00957, 0.00958, 0.00959, 0.00960, 0.00961, 0.00962, 0.00963, 0.00964, 0.00965) +
                    STENCIL_ROW_9(A[t % 2][i], j,
                        0.00966, 0.00967, 0.00968, 0.00969, 0.22400, 0.00971, 0.00972, 0.00973, 0.00974) +
                    STENCIL_ROW_9(A[t % 2][i + 1], j,
                        0.00975, 0.00976, 0.00977, 0.00978, 0.00979, 0.00980, 0.00981, 0.00982, 0.00983) +
                    STENCIL_ROW_9(A[t % 2][i + 2], j,
                        0.00984, 0.00985, 0.00986, 0.00987, 0.00988, 0.00989, 0.00990, 0.00991, 0.00992) +
                    STENCIL_ROW_9(A[t % 2][i + 3], j,
                        0.00993, 0.00994, 0.00995, 0.00996, 0.00997, 0.00998, 0.00999, 0.01000, 0.01001) +
                    STENCIL_ROW_9(A[t % 2][i + 4], j,
                        0.01002, 0.01003, 0.01004, 0.01005, 0.01006, 0.01007, 0.01008, 0.01009, 0.01010);
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
    kernel_box2d4r(tsteps, nx, ny, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 2 * (size_t) nx * ny);
    free(A);
    return 0;
}
