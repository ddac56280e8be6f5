/*
 * heat-3d: the heat equation on a cube of n^3 elements: every interior element gains 1/8 of its
 * second difference along each of the three axes, from A to B and back again, in each of the
 * tsteps steps; the faces stay.
 */
#include "polybench.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(20, 40, 100, 500, 1000)
#endif
#ifndef N
#define N POLYBENCH_SIZE(10, 20, 40, 120, 200)
#endif

#define _PB_TSTEPS POLYBENCH_LOOP_BOUND(TSTEPS, tsteps)
#define _PB_N POLYBENCH_LOOP_BOUND(N, n)

static void init_array(int n, DATA_TYPE POLYBENCH_3D(A, N, N, N, n, n, n),
                       DATA_TYPE POLYBENCH_3D(B, N, N, N, n, n, n))
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++) {
                A[i][j][k] = (DATA_TYPE) polybench_field(1, i, j, k);
                B[i][j][k] = (DATA_TYPE) polybench_field(2, i, j, k);
            }
}

static void kernel_heat_3d(int tsteps, int n, DATA_TYPE POLYBENCH_3D(A, N, N, N, n, n, n),
                           DATA_TYPE POLYBENCH_3D(B, N, N, N, n, n, n))
{
    int t, i, j, k;
    (void) tsteps; /* not used with POLYBENCH_USE_SCALAR_LB */

    { /* heat-3d.c:35-60 runs on the GPU, compiled by polytile */
        extern int polytile_kernel_heat_3d_scop0(int tsteps, int n, double *B, double *A);
        if (polytile_kernel_heat_3d_scop0(tsteps, n, (double *)B, (double *)A) != 0) {
            extern void exit(int);
            exit(4);
        }
        if (0) { /* the sequential C, compiled so that what it uses stays in use, but never run */
#line 36 "polybench/polybench/heat-3d.c"
    for (t = 1; t <= _PB_TSTEPS; t++) {
        for (i = 1; i < _PB_N - 1; i++)
            for (j = 1; j < _PB_N - 1; j++)
                for (k = 1; k < _PB_N - 1; k++)
                    B[i][j][k] =
                        SCALAR_VAL(0.125) *
                            (A[i + 1][j][k] - SCALAR_VAL(2.0) * A[i][j][k] + A[i - 1][j][k]) +
                        SCALAR_VAL(0.125) *
                            (A[i][j + 1][k] - SCALAR_VAL(2.0) * A[i][j][k] + A[i][j - 1][k]) +
                        SCALAR_VAL(0.125) *
                            (A[i][j][k + 1] - SCALAR_VAL(2.0) * A[i][j][k] + A[i][j][k - 1]) +
                        A[i][j][k];
        for (i = 1; i < _PB_N - 1; i++)
            for (j = 1; j < _PB_N - 1; j++)
                for (k = 1; k < _PB_N - 1; k++)
                    A[i][j][k] =
                        SCALAR_VAL(0.125) *
                            (B[i + 1][j][k] - SCALAR_VAL(2.0) * B[i][j][k] + B[i - 1][j][k]) +
                        SCALAR_VAL(0.125) *
                            (B[i][j + 1][k] - SCALAR_VAL(2.0) * B[i][j][k] + B[i][j - 1][k]) +
                        SCALAR_VAL(0.125) *
                            (B[i][j][k + 1] - SCALAR_VAL(2.0) * B[i][j][k] + B[i][j][k - 1]) +
                        B[i][j][k];
    }
        }
#line 60 "polybench/polybench/heat-3d.c"
    }
}

int main(void)
{
    int tsteps = TSTEPS;
    int n = N;
    POLYBENCH_3D_ARRAY_DECL(A, DATA_TYPE, N, N, N, n, n, n);
    POLYBENCH_3D_ARRAY_DECL(B, DATA_TYPE, N, N, N, n, n, n);

    init_array(n, POLYBENCH_ARRAY(A), POLYBENCH_ARRAY(B));
    polybench_input("A", A, (size_t) n * n * n);
    polybench_input("B", B, (size_t) n * n * n);

    polybench_start_instruments;
    kernel_heat_3d(tsteps, n, POLYBENCH_ARRAY(A), POLYBENCH_ARRAY(B));
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, (size_t) n * n * n);
    POLYBENCH_FREE_ARRAY(A);
    POLYBENCH_FREE_ARRAY(B);
    return 0;
}
