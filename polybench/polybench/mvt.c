/*
 * mvt: x1 := x1 + A y1 and x2 := x2 + A^T y2, with A: n x n.
 *
 * A is a pointer to rows of variable length, and the kernel is part of main.
 */
#include "polybench.h"

#ifndef N
#define N POLYBENCH_SIZE(40, 120, 400, 2000, 4000)
#endif

int main(void)
{
    int n = N;

    if (n < 1) { /* array types have at least one element */
        polybench_output("x1", NULL, 0);
        polybench_output("x2", NULL, 0);
        return 0;
    }

    DATA_TYPE(*A)[n] = malloc(n * sizeof *A);
    DATA_TYPE *x1 = malloc(n * sizeof *x1);
    DATA_TYPE *x2 = malloc(n * sizeof *x2);
    DATA_TYPE *y_1 = malloc(n * sizeof *y_1);
    DATA_TYPE *y_2 = malloc(n * sizeof *y_2);

    if (A == NULL || x1 == NULL || x2 == NULL || y_1 == NULL || y_2 == NULL)
        return EXIT_FAILURE;
    for (int i = 0; i < n; i++) {
        x1[i] = (DATA_TYPE) polybench_random(1, i, 0, 0);
        x2[i] = (DATA_TYPE) polybench_random(2, i, 0, 0);
        y_1[i] = (DATA_TYPE) polybench_random(3, i, 0, 0);
        y_2[i] = (DATA_TYPE) polybench_random(4, i, 0, 0);
        for (int j = 0; j < n; j++)
            A[i][j] = (DATA_TYPE) polybench_random(5, i, j, 0);
    }
    polybench_input("A", A, (size_t) n * n);
    polybench_input("x1", x1, n);
    polybench_input("x2", x2, n);
    polybench_input("y_1", y_1, n);
    polybench_input("y_2", y_2, n);

    polybench_start_instruments;
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x1[i] = x1[i] + A[i][j] * y_1[j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x2[i] = x2[i] + A[j][i] * y_2[j];
#pragma endscop
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("x1", x1, n);
    polybench_output("x2", x2, n);
    free(A);
    free(x1);
    free(x2);
    free(y_1);
    free(y_2);
    return 0;
}
