/*
 * triangle-9pt: every element strictly below the diagonal and inside the border becomes the mean
 * of the nine elements around it, from one plane of A to the other, in each of the tsteps steps;
 * all others stay.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(4, 20, 100, 500, 1000)
#endif
#ifndef N
#define N POLYBENCH_SIZE(26, 136, 1024, 4096, 8192)
#endif

static void kernel_triangle_9pt(int tsteps, int n, DATA_TYPE A[2][n][n])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 2; i < n - 1; i++)
            for (int j = 1; j < i; j++)
                A[(t + 1) % 2][i][j] =
                    (SCALAR_VAL(1.0) / SCALAR_VAL(9.0)) *
                    (A[t % 2][i - 1][j - 1] + A[t % 2][i - 1][j] + A[t % 2][i - 1][j + 1] +
                     A[t % 2][i][j - 1] + A[t % 2][i][j] + A[t % 2][i][j + 1] +
                     A[t % 2][i + 1][j - 1] + A[t % 2][i + 1][j] + A[t % 2][i + 1][j + 1]);
#pragma endscop
}

int main(void)
{
    int tsteps = TSTEPS;
    int n = N;
    DATA_TYPE(*A)[POLYBENCH_EXTENT(n)][POLYBENCH_EXTENT(n)] = polybench_alloc_data(2, sizeof *A);

    stencil_init_planes(A, 1, n, n, 1);
    polybench_input("A", A, 2 * (size_t) n * n);

    polybench_start_instruments;
    kernel_triangle_9pt(tsteps, n, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 2 * (size_t) n * n);
    free(A);
    return 0;
}
