/*
 * gemver: A := A + u1 v1^T + u2 v2^T, x := x + beta A^T y + z, w := w + alpha A x,
 * with A: n x n and vectors of n elements.
 */
#include "polybench.h"

#ifndef N
#define N POLYBENCH_SIZE(40, 120, 400, 2000, 4000)
#endif

#define _PB_N POLYBENCH_LOOP_BOUND(N, n)

static void init_vector(int n, int array, DATA_TYPE POLYBENCH_1D(x, N, n))
{
    for (int i = 0; i < n; i++)
        x[i] = (DATA_TYPE) polybench_random(array, i, 0, 0);
}

static void init_array(int n, DATA_TYPE POLYBENCH_2D(A, N, N, n, n))
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            A[i][j] = (DATA_TYPE) polybench_random(1, i, j, 0);
}

static void kernel_gemver(int n, DATA_TYPE alpha, DATA_TYPE beta,
                          DATA_TYPE POLYBENCH_2D(A, N, N, n, n),
                          DATA_TYPE POLYBENCH_1D(u1, N, n), DATA_TYPE POLYBENCH_1D(v1, N, n),
                          DATA_TYPE POLYBENCH_1D(u2, N, n), DATA_TYPE POLYBENCH_1D(v2, N, n),
                          DATA_TYPE POLYBENCH_1D(w, N, n), DATA_TYPE POLYBENCH_1D(x, N, n),
                          DATA_TYPE POLYBENCH_1D(y, N, n), DATA_TYPE POLYBENCH_1D(z, N, n))
{
    int i, j;

#pragma scop
    for (i = 0; i < _PB_N; i++)
        for (j = 0; j < _PB_N; j++)
            A[i][j] = A[i][j] + u1[i] * v1[j] + u2[i] * v2[j];

    for (i = 0; i < _PB_N; i++)
        for (j = 0; j < _PB_N; j++)
            x[i] = x[i] + beta * A[j][i] * y[j];

    for (i = 0; i < _PB_N; i++)
        x[i] = x[i] + z[i];

    for (i = 0; i < _PB_N; i++)
        for (j = 0; j < _PB_N; j++)
            w[i] = w[i] + alpha * A[i][j] * x[j];
#pragma endscop
}

int main(void)
{
    int n = N;
    DATA_TYPE alpha = SCALAR_VAL(1.5);
    DATA_TYPE beta = SCALAR_VAL(1.2);
    POLYBENCH_2D_ARRAY_DECL(A, DATA_TYPE, N, N, n, n);
    POLYBENCH_1D_ARRAY_DECL(u1, DATA_TYPE, N, n);
    POLYBENCH_1D_ARRAY_DECL(v1, DATA_TYPE, N, n);
    POLYBENCH_1D_ARRAY_DECL(u2, DATA_TYPE, N, n);
    POLYBENCH_1D_ARRAY_DECL(v2, DATA_TYPE, N, n);
    POLYBENCH_1D_ARRAY_DECL(w, DATA_TYPE, N, n);
    POLYBENCH_1D_ARRAY_DECL(x, DATA_TYPE, N, n);
    POLYBENCH_1D_ARRAY_DECL(y, DATA_TYPE, N, n);
    POLYBENCH_1D_ARRAY_DECL(z, DATA_TYPE, N, n);
    DATA_TYPE *vectors[] = {*u1, *v1, *u2, *v2, *w, *x, *y, *z};
    const char *names[] = {"u1", "v1", "u2", "v2", "w", "x", "y", "z"};

    init_array(n, POLYBENCH_ARRAY(A));
    polybench_input("alpha", &alpha, 1);
    polybench_input("beta", &beta, 1);
    polybench_input("A", A, (size_t) n * n);
    for (int i = 0; i < 8; i++) {
        init_vector(n, 2 + i, vectors[i]);
        polybench_input(names[i], vectors[i], n);
    }

    polybench_start_instruments;
    kernel_gemver(n, alpha, beta, POLYBENCH_ARRAY(A), POLYBENCH_ARRAY(u1), POLYBENCH_ARRAY(v1),
                  POLYBENCH_ARRAY(u2), POLYBENCH_ARRAY(v2), POLYBENCH_ARRAY(w),
                  POLYBENCH_ARRAY(x), POLYBENCH_ARRAY(y), POLYBENCH_ARRAY(z));
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("w", w, n);
    POLYBENCH_FREE_ARRAY(A);
    for (int i = 0; i < 8; i++)
        free(vectors[i]);
    return 0;
}
