/*
 * gesummv: y := alpha A x + beta B x, with A, B: n x n.
 *
 * The arrays are global with constant extents.
 */
#include "polybench.h"

#ifndef N
#define N POLYBENCH_SIZE(30, 90, 250, 1300, 2800)
#endif

#if N > 0
#define MAX_N N
#else
#define MAX_N 1
#endif

static DATA_TYPE A[MAX_N][MAX_N];
static DATA_TYPE B[MAX_N][MAX_N];
static DATA_TYPE x[MAX_N];
static DATA_TYPE y[MAX_N];
static DATA_TYPE tmp[MAX_N];

static void gesummv(int n, DATA_TYPE alpha, DATA_TYPE beta)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        tmp[i] = SCALAR_VAL(0.0);
        y[i] = SCALAR_VAL(0.0);
        for (int j = 0; j < n; j++) {
            tmp[i] = A[i][j] * x[j] + tmp[i];
            y[i] = B[i][j] * x[j] + y[i];
        }
        y[i] = alpha * tmp[i] + beta * y[i];
    }
#pragma endscop
}

int main(void)
{
    int n = N;
    DATA_TYPE alpha = SCALAR_VAL(1.5);
    DATA_TYPE beta = SCALAR_VAL(1.2);

    for (int i = 0; i < n; i++) {
        x[i] = (DATA_TYPE) polybench_random(1, i, 0, 0);
        for (int j = 0; j < n; j++) {
            A[i][j] = (DATA_TYPE) polybench_random(2, i, j, 0);
            B[i][j] = (DATA_TYPE) polybench_random(3, i, j, 0);
        }
    }
    polybench_input("alpha", &alpha, 1);
    polybench_input("beta", &beta, 1);
    polybench_input("A", A, (size_t) n * n);
    polybench_input("B", B, (size_t) n * n);
    polybench_input("x", x, n);

    polybench_start_instruments;
    gesummv(n, alpha, beta);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("y", y, n);
    return 0;
}
