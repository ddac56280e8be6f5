/*
 * jacobi-2d: every interior element becomes the mean of itself and its four neighbours, from A
 * to B and back again, in each of the tsteps steps; the border stays.
 *
 * A and B are linear arrays with rows of n elements that share no memory.
 */
#include "polybench.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(20, 40, 100, 500, 1000)
#endif
#ifndef N
#define N POLYBENCH_SIZE(30, 90, 250, 1300, 2800)
#endif

static void jacobi_2d(int tsteps, int n, DATA_TYPE *restrict A, DATA_TYPE *restrict B)
{
    { /* jacobi-2d.c:18-31 runs on the GPU, compiled by polytile */
        extern int polytile_jacobi_2d_scop0(int tsteps, int n, double *B, double *A);
        if (polytile_jacobi_2d_scop0(tsteps, n, (double *)B, (double *)A) != 0) {
            extern void exit(int);
            exit(4);
        }
        if (0) { /* the sequential C, compiled so that what it uses stays in use, but never run */
#line 19 "polybench/polybench/jacobi-2d.c"
    for (int t = 0; t < tsteps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                B[i * n + j] = SCALAR_VAL(0.2) * (A[i * n + j] + A[i * n + j - 1] +
                                                  A[i * n + j + 1] + A[(i + 1) * n + j] +
                                                  A[(i - 1) * n + j]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                A[i * n + j] = SCALAR_VAL(0.2) * (B[i * n + j] + B[i * n + j - 1] +
                                                  B[i * n + j + 1] + B[(i + 1) * n + j] +
                                                  B[(i - 1) * n + j]);
    }
        }
#line 31 "polybench/polybench/jacobi-2d.c"
    }
}

int main(void)
{
    int tsteps = TSTEPS;
    int n = N;
    DATA_TYPE *A = polybench_alloc_data((size_t) n * n, sizeof *A);
    DATA_TYPE *B = polybench_alloc_data((size_t) n * n, sizeof *B);

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            A[i * n + j] = (DATA_TYPE) polybench_field(1, i, j, 0);
            B[i * n + j] = (DATA_TYPE) polybench_field(2, i, j, 0);
        }
    polybench_input("A", A, (size_t) n * n);
    polybench_input("B", B, (size_t) n * n);

    polybench_start_instruments;
    jacobi_2d(tsteps, n, A, B);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, (size_t) n * n);
    free(A);
    free(B);
    return 0;
}
