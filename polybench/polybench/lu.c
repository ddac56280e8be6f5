/*
 * lu: A = L U without pivoting, L unit lower triangular, U upper triangular. A is overwritten:
 * U is left on and above the diagonal, L below it.
 */
#include "polybench.h"

#ifndef N
#define N POLYBENCH_SIZE(40, 120, 400, 2000, 4000)
#endif

#define _PB_N POLYBENCH_LOOP_BOUND(N, n)

/* Diagonally dominant, so that the elimination needs no pivoting. */
static void init_array(int n, DATA_TYPE POLYBENCH_2D(A, N, N, n, n))
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            A[i][j] = (DATA_TYPE) (polybench_random(1, i, j, 0) + (i == j ? n : 0));
}

static void kernel_lu(int n, DATA_TYPE POLYBENCH_2D(A, N, N, n, n))
{
    int i, j, k;

#pragma scop
    for (i = 0; i < _PB_N; i++) {
        for (j = 0; j < i; j++) {
            for (k = 0; k < j; k++)
                A[i][j] -= A[i][k] * A[k][j];
            A[i][j] /= A[j][j];
        }
        for (j = i; j < _PB_N; j++)
            for (k = 0; k < i; k++)
                A[i][j] -= A[i][k] * A[k][j];
    }
#pragma endscop
}

int main(void)
{
    int n = N;
    POLYBENCH_2D_ARRAY_DECL(A, DATA_TYPE, N, N, n, n);

    init_array(n, POLYBENCH_ARRAY(A));
    polybench_input("A", A, (size_t) n * n);

    polybench_start_instruments;
    kernel_lu(n, POLYBENCH_ARRAY(A));
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, (size_t) n * n);
    POLYBENCH_FREE_ARRAY(A);
    return 0;
}
