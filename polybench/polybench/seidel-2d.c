/*
 * seidel-2d: every interior element becomes the mean of the 3 x 3 elements around it, in place,
 * row by row, so that those above and to the left are already new; tsteps sweeps.
 *
 * The array is global with a constant extent; the iterators are declared before the loops.
 */
#include "polybench.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(20, 40, 100, 500, 1000)
#endif
#ifndef N
#define N POLYBENCH_SIZE(40, 120, 400, 2000, 4000)
#endif

#if N > 0
#define MAX_N N
#else
#define MAX_N 1
#endif

static DATA_TYPE A[MAX_N][MAX_N];

int main(void)
{
    int tsteps = TSTEPS;
    int n = N;
    int t, i, j;

    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++)
            A[i][j] = (DATA_TYPE) polybench_field(1, i, j, 0);
    polybench_input("A", A, (size_t) n * n);

    polybench_start_instruments;
#pragma scop
    for (t = 0; t <= tsteps - 1; t++)
        for (i = 1; i <= n - 2; i++)
            for (j = 1; j <= n - 2; j++)
                A[i][j] = (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1] +
                           A[i][j - 1] + A[i][j] + A[i][j + 1] +
                           A[i + 1][j - 1] + A[i + 1][j] + A[i + 1][j + 1]) / SCALAR_VAL(9.0);
#pragma endscop
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, (size_t) n * n);
    return 0;
}
