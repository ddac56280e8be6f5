/*
 * two-steps-back: all steps are kept, a row each: an element becomes a mean of itself, of one in
 * the row before and of a farther one in the row before that, so that values travel 3 places in
 * 2 steps towards larger indices and 1 place in 1 step towards smaller ones. The first two rows
 * and the border stay.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(6, 40, 64, 64, 128)
#endif
#ifndef N
#define N POLYBENCH_SIZE(60, 1000, 100000, 4194304, 8388608)
#endif

static void kernel_two_steps_back(int tsteps, int n, DATA_TYPE A[tsteps][n])
{
#pragma scop
    for (int t = 2; t < tsteps; t++)
        for (int i = 3; i < n - 1; i++)
            A[t][i] = SCALAR_VAL(0.5) * A[t][i] +
                      SCALAR_VAL(0.25) * (A[t - 1][i + 1] + A[t - 2][i - 3]);
#pragma endscop
}

int main(void)
{
    int tsteps = TSTEPS;
    int n = N;
    DATA_TYPE(*A)[POLYBENCH_EXTENT(n)] = polybench_alloc_data(tsteps, sizeof *A);

    stencil_init(A, 1, 1.0, tsteps, n, 1);
    polybench_input("A", A, (size_t) tsteps * n);

    polybench_start_instruments;
    kernel_two_steps_back(tsteps, n, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, (size_t) tsteps * n);
    free(A);
    return 0;
}
