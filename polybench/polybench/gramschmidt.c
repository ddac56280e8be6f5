/*
 * gramschmidt: A = Q R by the modified Gram-Schmidt process, with A: m x n, Q: m x n with
 * orthonormal columns, R: n x n upper triangular. A is overwritten.
 *
 * The data sets have m < n. At most m columns are independent: of the later ones only rounding
 * errors remain, so that the columns of Q and the rows of R from m on mean nothing. They are
 * computed, but not printed.
 */
#include "polybench.h"

#ifndef M
#define M POLYBENCH_SIZE(20, 60, 200, 1000, 2000)
#endif
#ifndef N
#define N POLYBENCH_SIZE(30, 80, 240, 1200, 2600)
#endif

#define _PB_M POLYBENCH_LOOP_BOUND(M, m)
#define _PB_N POLYBENCH_LOOP_BOUND(N, n)

/* The first m columns of A are well independent: their diagonal stands out. */
static void init_array(int m, int n, DATA_TYPE POLYBENCH_2D(A, M, N, m, n),
                       DATA_TYPE POLYBENCH_2D(R, N, N, n, n),
                       DATA_TYPE POLYBENCH_2D(Q, M, N, m, n))
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            A[i][j] = (DATA_TYPE) (polybench_random(1, i, j, 0) - 0.5 + (i == j ? 0.05 * m : 0.0));
            Q[i][j] = SCALAR_VAL(0.0);
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            R[i][j] = SCALAR_VAL(0.0);
}

static void kernel_gramschmidt(int m, int n, DATA_TYPE POLYBENCH_2D(A, M, N, m, n),
                               DATA_TYPE POLYBENCH_2D(R, N, N, n, n),
                               DATA_TYPE POLYBENCH_2D(Q, M, N, m, n))
{
    int i, j, k;
    DATA_TYPE nrm;

#pragma scop
    for (k = 0; k < _PB_N; k++) {
        nrm = SCALAR_VAL(0.0);
        for (i = 0; i < _PB_M; i++)
            nrm += A[i][k] * A[i][k];
        R[k][k] = SQRT_FUN(nrm);
        for (i = 0; i < _PB_M; i++)
            Q[i][k] = A[i][k] / R[k][k];
        for (j = k + 1; j < _PB_N; j++) {
            R[k][j] = SCALAR_VAL(0.0);
            for (i = 0; i < _PB_M; i++)
                R[k][j] += Q[i][k] * A[i][j];
            for (i = 0; i < _PB_M; i++)
                A[i][j] = A[i][j] - Q[i][k] * R[k][j];
        }
    }
#pragma endscop
}

/* Sets what depends on rounding errors alone to zero. */
static void clear_rest(int m, int n, DATA_TYPE POLYBENCH_2D(R, N, N, n, n),
                       DATA_TYPE POLYBENCH_2D(Q, M, N, m, n))
{
    for (int k = m; k < n; k++) {
        for (int i = 0; i < m; i++)
            Q[i][k] = SCALAR_VAL(0.0);
        for (int j = 0; j < n; j++)
            R[k][j] = SCALAR_VAL(0.0);
    }
}

int main(void)
{
    int m = M;
    int n = N;
    POLYBENCH_2D_ARRAY_DECL(A, DATA_TYPE, M, N, m, n);
    POLYBENCH_2D_ARRAY_DECL(R, DATA_TYPE, N, N, n, n);
    POLYBENCH_2D_ARRAY_DECL(Q, DATA_TYPE, M, N, m, n);

    init_array(m, n, POLYBENCH_ARRAY(A), POLYBENCH_ARRAY(R), POLYBENCH_ARRAY(Q));
    polybench_input("A", A, (size_t) m * n);

    polybench_start_instruments;
    kernel_gramschmidt(m, n, POLYBENCH_ARRAY(A), POLYBENCH_ARRAY(R), POLYBENCH_ARRAY(Q));
    polybench_stop_instruments;
    polybench_print_instruments;

    clear_rest(m, n, POLYBENCH_ARRAY(R), POLYBENCH_ARRAY(Q));
    polybench_output("R", R, (size_t) n * n);
    polybench_output("Q", Q, (size_t) m * n);
    POLYBENCH_FREE_ARRAY(A);
    POLYBENCH_FREE_ARRAY(R);
    POLYBENCH_FREE_ARRAY(Q);
    return 0;
}
