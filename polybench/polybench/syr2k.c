/*
 * syr2k: C := alpha (A B^T + B A^T) + beta C on and below the diagonal of C: n x n, with
 * A, B: n x m; what is above the diagonal stays as it was.
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

static void init_array(int n, int m, DATA_TYPE *alpha, DATA_TYPE *beta,
                       DATA_TYPE POLYBENCH_2D(C, N, N, n, n),
                       DATA_TYPE POLYBENCH_2D(A, N, M, n, m),
                       DATA_TYPE POLYBENCH_2D(B, N, M, n, m))
{
    *alpha = SCALAR_VAL(1.5);
    *beta = SCALAR_VAL(1.2);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            C[i][j] = (DATA_TYPE) polybench_random(1, i, j, 0);
        for (int k = 0; k < m; k++) {
            A[i][k] = (DATA_TYPE) polybench_random(2, i, k, 0);
            B[i][k] = (DATA_TYPE) polybench_random(3, i, k, 0);
        }
    }
}

static void kernel_syr2k(int n, int m, DATA_TYPE alpha, DATA_TYPE beta,
                         DATA_TYPE POLYBENCH_2D(C, N, N, n, n),
                         DATA_TYPE POLYBENCH_2D(A, N, M, n, m),
                         DATA_TYPE POLYBENCH_2D(B, N, M, n, m))
{
    int i, j, k;

#pragma scop
    for (i = 0; i < _PB_N; i++) {
        for (j = 0; j <= i; j++)
            C[i][j] *= beta;
        for (k = 0; k < _PB_M; k++)
            for (j = 0; j <= i; j++)
                C[i][j] += A[j][k] * alpha * B[i][k] + B[j][k] * alpha * A[i][k];
    }
#pragma endscop
}

int main(void)
{
    int n = N;
    int m = M;
    DATA_TYPE alpha;
    DATA_TYPE beta;
    POLYBENCH_2D_ARRAY_DECL(C, DATA_TYPE, N, N, n, n);
    POLYBENCH_2D_ARRAY_DECL(A, DATA_TYPE, N, M, n, m);
    POLYBENCH_2D_ARRAY_DECL(B, DATA_TYPE, N, M, n, m);

    init_array(n, m, &alpha, &beta, POLYBENCH_ARRAY(C), POLYBENCH_ARRAY(A), POLYBENCH_ARRAY(B));
    polybench_input("alpha", &alpha, 1);
    polybench_input("beta", &beta, 1);
    polybench_input("C", C, (size_t) n * n);
    polybench_input("A", A, (size_t) n * m);
    polybench_input("B", B, (size_t) n * m);

    polybench_start_instruments;
    kernel_syr2k(n, m, alpha, beta, POLYBENCH_ARRAY(C), POLYBENCH_ARRAY(A), POLYBENCH_ARRAY(B));
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("C", C, (size_t) n * n);
    POLYBENCH_FREE_ARRAY(C);
    POLYBENCH_FREE_ARRAY(A);
    POLYBENCH_FREE_ARRAY(B);
    return 0;
}
