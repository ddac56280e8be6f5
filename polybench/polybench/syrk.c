/*
 * syrk: C := alpha A A^T + beta C on and below the diagonal of C: n x n, with A: n x m; what is
 * above the diagonal stays as it was.
 *
 * The arrays are global with constant extents; the kernel is part of main.
 */
#include "polybench.h"

#ifndef M
#define M POLYBENCH_SIZE(20, 60, 200, 1000, 2000)
#endif
#ifndef N
#define N POLYBENCH_SIZE(30, 80, 240, 1200, 2600)
#endif

#if M > 0
#define MAX_M M
#else
#define MAX_M 1
#endif
#if N > 0
#define MAX_N N
#else
#define MAX_N 1
#endif

static DATA_TYPE C[MAX_N][MAX_N];
static DATA_TYPE A[MAX_N][MAX_M];

int main(void)
{
    int m = M;
    int n = N;
    DATA_TYPE alpha = SCALAR_VAL(1.5);
    DATA_TYPE beta = SCALAR_VAL(1.2);

    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            C[i][j] = (DATA_TYPE) polybench_random(1, i, j, 0);
        for (int k = 0; k < m; k++)
            A[i][k] = (DATA_TYPE) polybench_random(2, i, k, 0);
    }
    polybench_input("alpha", &alpha, 1);
    polybench_input("beta", &beta, 1);
    polybench_input("C", C, (size_t) n * n);
    polybench_input("A", A, (size_t) n * m);

    polybench_start_instruments;
#pragma scop
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++)
            C[i][j] *= beta;
        for (int k = 0; k < m; k++)
            for (int j = 0; j <= i; j++)
                C[i][j] += alpha * A[i][k] * A[j][k];
    }
#pragma endscop
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("C", C, (size_t) n * n);
    return 0;
}
