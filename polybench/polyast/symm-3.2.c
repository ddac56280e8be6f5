/*
 * symm-3.2: what PolyBench 3.2 computes under the name symm, on n x n matrices. The inner loop is
 * limited by the column, k < j - 1, and not by the row as in a symmetric product, so that row i
 * adds to all rows of C up to j - 2, those below i included, before these are scaled by beta.
 */
#include "../polybench/polybench.h"

#ifndef N
#define N POLYBENCH_SIZE(20, 64, 256, 2048, 4096)
#endif

#define _PB_N POLYBENCH_LOOP_BOUND(N, n)

static void init_array(int n, int array, DATA_TYPE POLYBENCH_2D(X, N, N, n, n))
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            X[i][j] = (DATA_TYPE) polybench_random(array, i, j, 0);
}

static void kernel_symm(int n, DATA_TYPE alpha, DATA_TYPE beta,
                        DATA_TYPE POLYBENCH_2D(C, N, N, n, n),
                        DATA_TYPE POLYBENCH_2D(A, N, N, n, n),
                        DATA_TYPE POLYBENCH_2D(B, N, N, n, n))
{
    int i, j, k;
    DATA_TYPE acc;

#pragma scop
    for (i = 0; i < _PB_N; i++)
        for (j = 0; j < _PB_N; j++) {
            acc = 0;
            for (k = 0; k < j - 1; k++) {
                C[k][j] += alpha * A[k][i] * B[i][j];
                acc += B[k][j] * A[k][i];
            }
            C[i][j] = beta * C[i][j] + alpha * A[i][i] * B[i][j] + alpha * acc;
        }
#pragma endscop
}

int main(void)
{
    int n = N;
    DATA_TYPE alpha = SCALAR_VAL(32412.0);
    DATA_TYPE beta = SCALAR_VAL(2123.0);
    POLYBENCH_2D_ARRAY_DECL(C, DATA_TYPE, N, N, n, n);
    POLYBENCH_2D_ARRAY_DECL(A, DATA_TYPE, N, N, n, n);
    POLYBENCH_2D_ARRAY_DECL(B, DATA_TYPE, N, N, n, n);

    init_array(n, 1, POLYBENCH_ARRAY(C));
    init_array(n, 2, POLYBENCH_ARRAY(A));
    init_array(n, 3, POLYBENCH_ARRAY(B));
    polybench_input("alpha", &alpha, 1);
    polybench_input("beta", &beta, 1);
    polybench_input("C", C, (size_t) n * n);
    polybench_input("A", A, (size_t) n * n);
    polybench_input("B", B, (size_t) n * n);

    polybench_start_instruments;
    kernel_symm(n, alpha, beta, POLYBENCH_ARRAY(C), POLYBENCH_ARRAY(A), POLYBENCH_ARRAY(B));
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("C", C, (size_t) n * n);
    POLYBENCH_FREE_ARRAY(C);
    POLYBENCH_FREE_ARRAY(A);
    POLYBENCH_FREE_ARRAY(B);
    return 0;
}
