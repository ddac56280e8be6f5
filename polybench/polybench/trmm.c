/*
 * trmm: B := alpha A^T B, with B: m x n and a unit lower triangular A: m x m, of which only the
 * part below the diagonal is read.
 *
 * A and B are linear arrays with rows of m and n elements that share no memory.
 */
#include "polybench.h"

#ifndef M
#define M POLYBENCH_SIZE(20, 60, 200, 1000, 2000)
#endif
#ifndef N
#define N POLYBENCH_SIZE(30, 80, 240, 1200, 2600)
#endif

static void trmm(int m, int n, DATA_TYPE alpha, const DATA_TYPE *restrict A,
                 DATA_TYPE *restrict B)
{
#pragma scop
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            for (int k = i + 1; k < m; k++)
                B[i * n + j] += A[k * m + i] * B[k * n + j];
            B[i * n + j] = alpha * B[i * n + j];
        }
#pragma endscop
}

int main(void)
{
    int m = M;
    int n = N;
    DATA_TYPE alpha = SCALAR_VAL(1.5);
    DATA_TYPE *A = polybench_alloc_data((size_t) m * m, sizeof *A);
    DATA_TYPE *B = polybench_alloc_data((size_t) m * n, sizeof *B);

    for (int i = 0; i < m; i++) {
        for (int k = 0; k < m; k++) /* on and above the diagonal, too, other values */
            A[i * m + k] = (DATA_TYPE) polybench_random(1, i, k, 0);
        for (int j = 0; j < n; j++)
            B[i * n + j] = (DATA_TYPE) polybench_random(2, i, j, 0);
    }
    polybench_input("alpha", &alpha, 1);
    polybench_input("A", A, (size_t) m * m);
    polybench_input("B", B, (size_t) m * n);

    polybench_start_instruments;
    trmm(m, n, alpha, A, B);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("B", B, (size_t) m * n);
    free(A);
    free(B);
    return 0;
}
