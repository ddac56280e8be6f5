/*
 * atax: y := A^T (A x), with A: m x n, row by row: tmp_i := A_i x, y := y + tmp_i A_i^T.
 *
 * A is a linear array with rows of n elements; no two pointers share memory.
 */
#include "polybench.h"

#ifndef M
#define M POLYBENCH_SIZE(38, 116, 390, 1900, 1800)
#endif
#ifndef N
#define N POLYBENCH_SIZE(42, 124, 410, 2100, 2200)
#endif

static void atax(int m, int n, const DATA_TYPE *restrict A, const DATA_TYPE *restrict x,
                 DATA_TYPE *restrict y, DATA_TYPE *restrict tmp)
{
#pragma scop
    for (int i = 0; i < n; i++)
        y[i] = 0;
    for (int i = 0; i < m; i++) {
        tmp[i] = SCALAR_VAL(0.0);
        for (int j = 0; j < n; j++)
            tmp[i] = tmp[i] + A[i * n + j] * x[j];
        for (int j = 0; j < n; j++)
            y[j] = y[j] + A[i * n + j] * tmp[i];
    }
#pragma endscop
}

int main(void)
{
    int m = M;
    int n = N;
    DATA_TYPE *A = polybench_alloc_data((size_t) m * n, sizeof *A);
    DATA_TYPE *x = polybench_alloc_data(n, sizeof *x);
    DATA_TYPE *y = polybench_alloc_data(n, sizeof *y);
    DATA_TYPE *tmp = polybench_alloc_data(m, sizeof *tmp);

    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            A[i * n + j] = (DATA_TYPE) polybench_random(1, i, j, 0);
    for (int j = 0; j < n; j++)
        x[j] = (DATA_TYPE) polybench_random(2, j, 0, 0);
    polybench_input("A", A, (size_t) m * n);
    polybench_input("x", x, n);

    polybench_start_instruments;
    atax(m, n, A, x, y, tmp);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("y", y, n);
    free(A);
    free(x);
    free(y);
    free(tmp);
    return 0;
}
