/*
 * cholesky: A = L L^T for a symmetric positive definite A, L lower triangular. L overwrites the
 * lower triangle of A; what is above the diagonal stays as it was.
 *
 * The array is a pointer to rows of variable length, and the kernel is part of main.
 */
#include "polybench.h"

#ifndef N
#define N POLYBENCH_SIZE(40, 120, 400, 2000, 4000)
#endif

int main(void)
{
    int n = N;
    int i, j, k;

    if (n < 1) { /* array types have at least one element */
        polybench_output("A", NULL, 0);
        return 0;
    }

    DATA_TYPE(*A)[n] = malloc(sizeof(DATA_TYPE[n][n]));

    if (A == NULL)
        return EXIT_FAILURE;
    for (i = 0; i < n; i++) /* a dominant diagonal: positive definite */
        for (j = 0; j <= i; j++) {
            A[i][j] = (DATA_TYPE) (polybench_random(1, i, j, 0) + (i == j ? n : 0));
            A[j][i] = A[i][j];
        }
    polybench_input("A", A, (size_t) n * n);

    polybench_start_instruments;
#pragma scop
    for (i = 0; i < n; i++) {
        for (j = 0; j < i; j++) {
            for (k = 0; k < j; k++)
                A[i][j] -= A[i][k] * A[j][k];
            A[i][j] /= A[j][j];
        }
        for (k = 0; k < i; k++)
            A[i][i] -= A[i][k] * A[i][k];
        A[i][i] = SQRT_FUN(A[i][i]);
    }
#pragma endscop
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, (size_t) n * n);
    free(A);
    return 0;
}
