/*
 * two-neighbours: all steps are kept, a row each: an element becomes the mean of the neighbours
 * on both sides in the row before, and does not depend on itself. The first row and the border
 * stay.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(6, 40, 64, 64, 128)
#endif
#ifndef N
#define N POLYBENCH_SIZE(60, 1000, 100000, 4194304, 8388608)
#endif

static void kernel_two_neighbours(int tsteps, int n, DATA_TYPE A[tsteps][n])
{
#pragma scop
    for (int t = 1; t < tsteps; t++)
        for (int i = 1; i < n - 1; i++)
            A[t][i] = SCALAR_VAL(0.5) * (A[t - 1][i - 1] + A[t - 1][i + 1]);
#pragma endscop
}

int main(void)
{
    int tsteps = TSTEPS;
    int n = N;
    DATA_TYPE(*A)[POLYBENCH_EXTENT(n)] = polybench_alloc_data(tsteps, sizeof *A);

    stencil_init(A, 1, 1.0, tsteps, n, 1);
    polybench_input("A", A, (size_t) tsteps * n);

    polybench_start_instruments;
    kernel_two_neighbours(tsteps, n, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, (size_t) tsteps * n);
    free(A);
    return 0;
}
