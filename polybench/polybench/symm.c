/*
 * symm: C := alpha A B + beta C, with B, C: m x n and a symmetric A: m x m, of which only the
 * lower triangle is read. Row i of A adds to all rows of C up to i.
 *
 * The arrays are pointers to rows of variable length, and the kernel is part of main.
 */
#include "polybench.h"

#ifndef M
#define M POLYBENCH_SIZE(20, 60, 200, 1000, 2000)
#endif
#ifndef N
#define N POLYBENCH_SIZE(30, 80, 240, 1200, 2600)
#endif

int main(void)
{
    int m = M;
    int n = N;
    int i, j, k;
    DATA_TYPE alpha = SCALAR_VAL(1.5);
    DATA_TYPE beta = SCALAR_VAL(1.2);
    DATA_TYPE temp2;

    if (m < 1 || n < 1) { /* array types have at least one element */
        polybench_output("C", NULL, 0);
        return 0;
    }

    DATA_TYPE(*A)[m] = malloc(m * sizeof *A);
    DATA_TYPE(*B)[n] = malloc(m * sizeof *B);
    DATA_TYPE(*C)[n] = malloc(m * sizeof *C);

    if (A == NULL || B == NULL || C == NULL)
        return EXIT_FAILURE;
    for (i = 0; i < m; i++)
        for (k = 0; k < m; k++) /* above the diagonal, too, other values */
            A[i][k] = (DATA_TYPE) polybench_random(1, i, k, 0);
    for (i = 0; i < m; i++)
        for (j = 0; j < n; j++) {
            B[i][j] = (DATA_TYPE) polybench_random(2, i, j, 0);
            C[i][j] = (DATA_TYPE) polybench_random(3, i, j, 0);
        }
    polybench_input("alpha", &alpha, 1);
    polybench_input("beta", &beta, 1);
    polybench_input("A", A, (size_t) m * m);
    polybench_input("B", B, (size_t) m * n);
    polybench_input("C", C, (size_t) m * n);

    polybench_start_instruments;
#pragma scop
    for (i = 0; i < m; i++)
        for (j = 0; j < n; j++) {
            temp2 = 0;
            for (k = 0; k < i; k++) {
                C[k][j] += alpha * B[i][j] * A[i][k];
                temp2 += B[k][j] * A[i][k];
            }
            C[i][j] = beta * C[i][j] + alpha * B[i][j] * A[i][i] + alpha * temp2;
        }
#pragma endscop
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("C", C, (size_t) m * n);
    free(A);
    free(B);
    free(C);
    return 0;
}
