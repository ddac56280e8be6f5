/*
 * correlation: data holds n observations (rows) of m variables (columns). Every column is centred
 * and scaled to the length 1 (one that hardly varies is left at its length, as its deviation is
 * taken to be 1); corr_ij := the product of the columns i and j, a symmetric matrix.
 */
#include "polybench.h"

#ifndef M
#define M POLYBENCH_SIZE(28, 80, 240, 1200, 2600)
#endif
#ifndef N
#define N POLYBENCH_SIZE(32, 100, 260, 1400, 3000)
#endif

#define _PB_M POLYBENCH_LOOP_BOUND(M, m)
#define _PB_N POLYBENCH_LOOP_BOUND(N, n)

/* Every seventh variable shares a part, so that strong and weak correlations occur. */
static void init_array(int m, int n, DATA_TYPE *float_n, DATA_TYPE POLYBENCH_2D(data, N, M, n, m))
{
    *float_n = (DATA_TYPE) n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            data[i][j] = (DATA_TYPE) (polybench_random(1, i, j, 0) +
                                      polybench_random(2, i, j % 7, 0));
}

static void kernel_correlation(int m, int n, DATA_TYPE float_n,
                               DATA_TYPE POLYBENCH_2D(data, N, M, n, m),
                               DATA_TYPE POLYBENCH_2D(corr, M, M, m, m),
                               DATA_TYPE POLYBENCH_1D(mean, M, m),
                               DATA_TYPE POLYBENCH_1D(stddev, M, m))
{
    int i, j, k;
    DATA_TYPE eps = SCALAR_VAL(0.1);

#pragma scop
    for (j = 0; j < _PB_M; j++) {
        mean[j] = SCALAR_VAL(0.0);
        for (i = 0; i < _PB_N; i++)
            mean[j] += data[i][j];
        mean[j] /= float_n;
    }

    for (j = 0; j < _PB_M; j++) {
        stddev[j] = SCALAR_VAL(0.0);
        for (i = 0; i < _PB_N; i++)
            stddev[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
        stddev[j] /= float_n;
        stddev[j] = SQRT_FUN(stddev[j]);
        stddev[j] = stddev[j] <= eps ? SCALAR_VAL(1.0) : stddev[j];
    }

    for (i = 0; i < _PB_N; i++)
        for (j = 0; j < _PB_M; j++) {
            data[i][j] -= mean[j];
            data[i][j] /= SQRT_FUN(float_n) * stddev[j];
        }

    for (i = 0; i < _PB_M - 1; i++) {
        corr[i][i] = SCALAR_VAL(1.0);
        for (j = i + 1; j < _PB_M; j++) {
            corr[i][j] = SCALAR_VAL(0.0);
            for (k = 0; k < _PB_N; k++)
                corr[i][j] += data[k][i] * data[k][j];
            corr[j][i] = corr[i][j];
        }
    }
    corr[_PB_M - 1][_PB_M - 1] = SCALAR_VAL(1.0);
#pragma endscop
}

int main(void)
{
    int n = N;
    int m = M;
    DATA_TYPE float_n;
    POLYBENCH_2D_ARRAY_DECL(data, DATA_TYPE, N, M, n, m);
    POLYBENCH_2D_ARRAY_DECL(corr, DATA_TYPE, M, M, m, m);
    POLYBENCH_1D_ARRAY_DECL(mean, DATA_TYPE, M, m);
    POLYBENCH_1D_ARRAY_DECL(stddev, DATA_TYPE, M, m);

    init_array(m, n, &float_n, POLYBENCH_ARRAY(data));
    polybench_input("data", data, (size_t) n * m);

    polybench_start_instruments;
    if (m > 0) /* the kernel writes the last element of the diagonal by itself */
        kernel_correlation(m, n, float_n, POLYBENCH_ARRAY(data), POLYBENCH_ARRAY(corr),
                           POLYBENCH_ARRAY(mean), POLYBENCH_ARRAY(stddev));
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("corr", corr, (size_t) m * m);
    POLYBENCH_FREE_ARRAY(data);
    POLYBENCH_FREE_ARRAY(corr);
    POLYBENCH_FREE_ARRAY(mean);
    POLYBENCH_FREE_ARRAY(stddev);
    return 0;
}
