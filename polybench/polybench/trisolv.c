/* trisolv: solves L x = b by forward substitution, with a lower triangular L: n x n. */
#include "polybench.h"

#ifndef N
#define N POLYBENCH_SIZE(40, 120, 400, 2000, 4000)
#endif

#define _PB_N POLYBENCH_LOOP_BOUND(N, n)

/* Diagonally dominant; above the diagonal other values, which are not read. */
static void init_array(int n, DATA_TYPE POLYBENCH_2D(L, N, N, n, n),
                       DATA_TYPE POLYBENCH_1D(b, N, n))
{
    for (int i = 0; i < n; i++) {
        b[i] = (DATA_TYPE) polybench_random(1, i, 0, 0);
        for (int j = 0; j < n; j++)
            L[i][j] = (DATA_TYPE) (polybench_random(2, i, j, 0) + (i == j ? n : 0));
    }
}

static void kernel_trisolv(int n, DATA_TYPE POLYBENCH_2D(L, N, N, n, n),
                           DATA_TYPE POLYBENCH_1D(x, N, n), DATA_TYPE POLYBENCH_1D(b, N, n))
{
    int i, j;

#pragma scop
    for (i = 0; i < _PB_N; i++) {
        x[i] = b[i];
        for (j = 0; j < i; j++)
            x[i] -= L[i][j] * x[j];
        x[i] = x[i] / L[i][i];
    }
#pragma endscop
}

int main(void)
{
    int n = N;
    POLYBENCH_2D_ARRAY_DECL(L, DATA_TYPE, N, N, n, n);
    POLYBENCH_1D_ARRAY_DECL(x, DATA_TYPE, N, n);
    POLYBENCH_1D_ARRAY_DECL(b, DATA_TYPE, N, n);

    init_array(n, POLYBENCH_ARRAY(L), POLYBENCH_ARRAY(b));
    polybench_input("L", L, (size_t) n * n);
    polybench_input("b", b, n);

    polybench_start_instruments;
    kernel_trisolv(n, POLYBENCH_ARRAY(L), POLYBENCH_ARRAY(x), POLYBENCH_ARRAY(b));
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("x", x, n);
    POLYBENCH_FREE_ARRAY(L);
    POLYBENCH_FREE_ARRAY(x);
    POLYBENCH_FREE_ARRAY(b);
    return 0;
}
