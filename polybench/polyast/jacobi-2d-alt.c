/*
 * jacobi-2d-alt: every interior element becomes the mean of itself and its two neighbours in the
 * row, from A to B, and is copied back, tsteps times. The rows do not depend on each other.
 */
#include "../polybench/polybench.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(5, 20, 50, 200, 500)
#endif
#ifndef N
#define N POLYBENCH_SIZE(30, 100, 400, 2000, 8000)
#endif

#define _PB_TSTEPS POLYBENCH_LOOP_BOUND(TSTEPS, tsteps)
#define _PB_N POLYBENCH_LOOP_BOUND(N, n)

static void init_array(int n, DATA_TYPE POLYBENCH_2D(A, N, N, n, n))
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            A[i][j] = (DATA_TYPE) polybench_field(1, i, j, 0);
}

static void kernel_jacobi_2d_alt(int tsteps, int n, DATA_TYPE fact,
                                 DATA_TYPE POLYBENCH_2D(A, N, N, n, n),
                                 DATA_TYPE POLYBENCH_2D(B, N, N, n, n))
{
    int t, i, j;

    (void) tsteps; /* not used with POLYBENCH_USE_SCALAR_LB */

#pragma scop
    for (t = 0; t < _PB_TSTEPS; t++) {
        for (i = 1; i < _PB_N - 1; i++)
            for (j = 1; j < _PB_N - 1; j++)
                B[i][j] = fact * (A[i][j] + A[i][j - 1] + A[i][j + 1]);
        for (i = 1; i < _PB_N - 1; i++)
            for (j = 1; j < _PB_N - 1; j++)
                A[i][j] = B[i][j];
    }
#pragma endscop
}

int main(void)
{
    int tsteps = TSTEPS;
    int n = N;
    DATA_TYPE fact = SCALAR_VAL(1.0) / SCALAR_VAL(3.0);
    POLYBENCH_2D_ARRAY_DECL(A, DATA_TYPE, N, N, n, n);
    POLYBENCH_2D_ARRAY_DECL(B, DATA_TYPE, N, N, n, n);

    init_array(n, POLYBENCH_ARRAY(A));
    polybench_input("A", A, (size_t) n * n);

    polybench_start_instruments;
    kernel_jacobi_2d_alt(tsteps, n, fact, POLYBENCH_ARRAY(A), POLYBENCH_ARRAY(B));
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, (size_t) n * n);
    POLYBENCH_FREE_ARRAY(A);
    POLYBENCH_FREE_ARRAY(B);
    return 0;
}
