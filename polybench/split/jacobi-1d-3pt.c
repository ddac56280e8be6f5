/*
 * jacobi-1d-3pt: every interior element becomes the mean of the three elements around it, from one
 * plane of A to the other, in each of the tsteps steps; the border stays.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(6, 40, 200, 1024, 1024)
#endif
#ifndef N
#define N POLYBENCH_SIZE(60, 1000, 100000, 16777216, 67108864)
#endif

static void kernel_jacobi_1d_3pt(int tsteps, int n, DATA_TYPE A[2][n])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 1; i < n - 1; i++)
            A[(t + 1) % 2][i] =
                (SCALAR_VAL(1.0) / SCALAR_VAL(3.0)) * (A[t % 2][i - 1] + A[t % 2][i] + A[t % 2][i + 1]);
#pragma endscop
}

int main(void)
{
    int tsteps = TSTEPS;
    int n = N;
    DATA_TYPE(*A)[POLYBENCH_EXTENT(n)] = polybench_alloc_data(2, sizeof *A);

    stencil_init_planes(A, 1, n, 1, 1);
    polybench_input("A", A, 2 * (size_t) n);

    polybench_start_instruments;
    kernel_jacobi_1d_3pt(tsteps, n, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 2 * (size_t) n);
    free(A);
    return 0;
}
