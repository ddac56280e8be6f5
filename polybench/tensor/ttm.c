/* ttm: a tensor times a matrix in the middle index: C_irk := sum over j of A_ijk U_rj. */
#include "tensor.h"

#ifndef NI
#define NI POLYBENCH_SIZE(8, 16, 40, 120, 300)
#endif
#ifndef NJ
#define NJ POLYBENCH_SIZE(10, 18, 50, 130, 320)
#endif
#ifndef NK
#define NK POLYBENCH_SIZE(12, 20, 60, 140, 340)
#endif
#ifndef NR
#define NR POLYBENCH_SIZE(9, 14, 30, 100, 200)
#endif

static void kernel_ttm(int ni, int nj, int nk, int nr, DATA_TYPE C[ni][nr][nk],
                       DATA_TYPE A[ni][nj][nk], DATA_TYPE U[nr][nj])
{
#pragma scop
    for (int i = 0; i < ni; i++)
        for (int r = 0; r < nr; r++)
            for (int k = 0; k < nk; k++) {
                C[i][r][k] = 0;
                for (int j = 0; j < nj; j++)
                    C[i][r][k] += A[i][j][k] * U[r][j];
            }
#pragma endscop
}

int main(void)
{
    int ni = NI;
    int nj = NJ;
    int nk = NK;
    int nr = NR;
    void *C = tensor_result((size_t) ni * nr * nk);
    void *A = tensor_input("A", 2, (size_t) ni * nj * nk);
    void *U = tensor_input("U", 3, (size_t) nr * nj);

    polybench_start_instruments;
    kernel_ttm(ni, nj, nk, nr, C, A, U);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("C", C, (size_t) ni * nr * nk);
    free(C);
    free(A);
    free(U);
    return 0;
}
