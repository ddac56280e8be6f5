/*
 * one-sided-pair: two arrays, each updated in place from the other one, A1 with the next element
 * of A0 and then A0 with the next but one of A1: no value travels towards larger indices, and
 * the two statements have different domains.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(6, 40, 200, 1024, 1024)
#endif
#ifndef N
#define N POLYBENCH_SIZE(60, 1000, 100000, 16777216, 67108864)
#endif

static void kernel_one_sided_pair(int tsteps, int n, DATA_TYPE A0[n], DATA_TYPE A1[n])
{
#pragma scop
    for (int t = 0; t < tsteps; t++) {
        for (int i = 0; i < n - 1; i++)
            A1[i] = SCALAR_VAL(0.5) * (A1[i] + A0[i + 1]);
        for (int i = 0; i < n - 2; i++)
            A0[i] = SCALAR_VAL(0.5) * (A0[i] + A1[i + 2]);
    }
#pragma endscop
}

int main(void)
{
    int tsteps = TSTEPS;
    int n = N;
    DATA_TYPE *A0 = polybench_alloc_data(n, sizeof *A0);
    DATA_TYPE *A1 = polybench_alloc_data(n, sizeof *A1);

    stencil_init(A0, 1, 1.0, n, 1, 1);
    stencil_init(A1, 2, 1.0, n, 1, 1);
    polybench_input("A0", A0, n);
    polybench_input("A1", A1, n);

    polybench_start_instruments;
    kernel_one_sided_pair(tsteps, n, A0, A1);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A0", A0, n);
    polybench_output("A1", A1, n);
    free(A0);
    free(A1);
    return 0;
}
