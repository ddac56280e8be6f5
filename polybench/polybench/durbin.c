/*
 * durbin: solves the Yule-Walker equations T y = -r by Durbin's recursion, where T is the
 * symmetric n x n Toeplitz matrix with first row (1, r_0, ..., r_(n-2)). Step k extends the
 * solution of order k to order k + 1.
 *
 * The vectors are plain pointers, and the kernel is part of main.
 */
#include "polybench.h"

#ifndef N
#define N POLYBENCH_SIZE(40, 120, 400, 2000, 4000)
#endif

int main(void)
{
    int n = N;
    DATA_TYPE *r = calloc((size_t) n + 1, sizeof *r); /* + 1: r[0] and y[0] exist for n = 0, too */
    DATA_TYPE *y = calloc((size_t) n + 1, sizeof *y);
    DATA_TYPE *z = calloc((size_t) n + 1, sizeof *z);
    DATA_TYPE alpha;
    DATA_TYPE beta;
    DATA_TYPE sum;

    if (r == NULL || y == NULL || z == NULL)
        return EXIT_FAILURE;
    for (int i = 0; i < n; i++) /* decays: T is positive definite */
        r[i] = (DATA_TYPE) ((polybench_random(1, i, 0, 0) - 0.5) / (2 * (i + 1)));
    polybench_input("r", r, n);

    polybench_start_instruments;
#pragma scop
    y[0] = -r[0];
    beta = SCALAR_VAL(1.0);
    alpha = -r[0];
    for (int k = 1; k < n; k++) {
        beta = (1 - alpha * alpha) * beta;
        sum = SCALAR_VAL(0.0);
        for (int i = 0; i < k; i++)
            sum += r[k - i - 1] * y[i];
        alpha = -(r[k] + sum) / beta;
        for (int i = 0; i < k; i++)
            z[i] = y[i] + alpha * y[k - i - 1];
        for (int i = 0; i < k; i++)
            y[i] = z[i];
        y[k] = alpha;
    }
#pragma endscop
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("y", y, n);
    free(r);
    free(y);
    free(z);
    return 0;
}
