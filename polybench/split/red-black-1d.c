/*
 * red-black-1d: in each of the tsteps steps every second interior element, and then every other
 * one, becomes a mean of itself and its two neighbours, in place; the border stays.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(6, 40, 200, 1024, 1024)
#endif
#ifndef N
#define N POLYBENCH_SIZE(60, 1000, 100000, 16777216, 67108864)
#endif

static void kernel_red_black_1d(int tsteps, int n, DATA_TYPE A[n])
{
#pragma scop
    for (int t = 0; t < tsteps; t++) {
        for (int i = 1; 2 * i < n - 1; i++)
            A[2 * i] = SCALAR_VAL(0.5) * A[2 * i] + SCALAR_VAL(0.25) * (A[2 * i - 1] + A[2 * i + 1]);
        for (int i = 0; 2 * i + 1 < n - 1; i++)
            A[2 * i + 1] = SCALAR_VAL(0.5) * A[2 * i + 1] + SCALAR_VAL(0.25) * (A[2 * i] + A[2 * i + 2]);
    }
#pragma endscop
}

int main(void)
{
    int tsteps = TSTEPS;
    int n = N;
    DATA_TYPE *A = polybench_alloc_data(n, sizeof *A);

    stencil_init(A, 1, 1.0, n, 1, 1);
    polybench_input("A", A, n);

    polybench_start_instruments;
    kernel_red_black_1d(tsteps, n, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, n);
    free(A);
    return 0;
}
