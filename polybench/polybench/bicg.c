/*
 * bicg: the two products of the biconjugate gradient method, s := A^T r and q := A p, in one pass
 * over A: n x m.
 *
 * A is a linear array with rows of m elements; no two pointers share memory.
 */
#include "polybench.h"

#ifndef M
#define M POLYBENCH_SIZE(38, 116, 390, 1900, 1800)
#endif
#ifndef N
#define N POLYBENCH_SIZE(42, 124, 410, 2100, 2200)
#endif

static void bicg(int m, int n, const DATA_TYPE *restrict A, DATA_TYPE *restrict s,
                 DATA_TYPE *restrict q, const DATA_TYPE *restrict p, const DATA_TYPE *restrict r)
{
#pragma scop
    for (int i = 0; i < m; i++)
        s[i] = 0;
    for (int i = 0; i < n; i++) {
        q[i] = SCALAR_VAL(0.0);
        for (int j = 0; j < m; j++) {
            s[j] = s[j] + r[i] * A[i * m + j];
            q[i] = q[i] + A[i * m + j] * p[j];
        }
    }
#pragma endscop
}

int main(void)
{
    int m = M;
    int n = N;
    DATA_TYPE *A = polybench_alloc_data((size_t) n * m, sizeof *A);
    DATA_TYPE *s = polybench_alloc_data(m, sizeof *s);
    DATA_TYPE *q = polybench_alloc_data(n, sizeof *q);
    DATA_TYPE *p = polybench_alloc_data(m, sizeof *p);
    DATA_TYPE *r = polybench_alloc_data(n, sizeof *r);

    for (int i = 0; i < n; i++) {
        r[i] = (DATA_TYPE) polybench_random(1, i, 0, 0);
        for (int j = 0; j < m; j++)
            A[i * m + j] = (DATA_TYPE) polybench_random(2, i, j, 0);
    }
    for (int j = 0; j < m; j++)
        p[j] = (DATA_TYPE) polybench_random(3, j, 0, 0);
    polybench_input("A", A, (size_t) n * m);
    polybench_input("p", p, m);
    polybench_input("r", r, n);

    polybench_start_instruments;
    bicg(m, n, A, s, q, p, r);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("s", s, m);
    polybench_output("q", q, n);
    free(A);
    free(s);
    free(q);
    free(p);
    free(r);
    return 0;
}
