/*
 * jacobi-1d: every interior element becomes the mean of itself and its two neighbours, from A
 * to B and back again, in each of the tsteps steps; the first and the last element stay.
 *
 * The arrays are global with a constant extent.
 */
#include "polybench.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(20, 40, 100, 500, 1000)
#endif
#ifndef N
#define N POLYBENCH_SIZE(30, 120, 400, 2000, 4000)
#endif

#if N > 0
#define MAX_N N
#else
#define MAX_N 1
#endif

static DATA_TYPE A[MAX_N];
static DATA_TYPE B[MAX_N];

static void init_arrays(int n)
{
    for (int i = 0; i < n; i++) {
        A[i] = (DATA_TYPE) polybench_field(1, i, 0, 0);
        B[i] = (DATA_TYPE) polybench_field(2, i, 0, 0);
    }
}

static void jacobi_1d(int tsteps, int n)
{
    { /* jacobi-1d.c:35-42 runs on the GPU, compiled by polytile */
        extern int polytile_jacobi_1d_scop0(int tsteps, int n, double *B, double *A);
        if (polytile_jacobi_1d_scop0(tsteps, n, (double *)B, (double *)A) != 0) {
            extern void exit(int);
            exit(4);
        }
        if (0) { /* the sequential C, compiled so that what it uses stays in use, but never run */
#line 36 "polybench/polybench/jacobi-1d.c"
    for (int t = 0; t < tsteps; t++) {
        for (int i = 1; i < n - 1; i++)
            B[i] = SCALAR_VAL(0.33333) * (A[i - 1] + A[i] + A[i + 1]);
        for (int i = 1; i < n - 1; i++)
            A[i] = SCALAR_VAL(0.33333) * (B[i - 1] + B[i] + B[i + 1]);
    }
        }
#line 42 "polybench/polybench/jacobi-1d.c"
    }
}

int main(void)
{
    int tsteps = TSTEPS;
    int n = N;

    init_arrays(n);
    polybench_input("A", A, n);
    polybench_input("B", B, n);

    polybench_start_instruments;
    jacobi_1d(tsteps, n);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, n);
    return 0;
}
