/* batched-gemm: C_b := A_b B_b for each of nb products. */
#include "tensor.h"

#ifndef NB
#define NB POLYBENCH_SIZE(3, 5, 8, 50, 100)
#endif
#ifndef NI
#define NI POLYBENCH_SIZE(20, 40, 80, 240, 480)
#endif
#ifndef NJ
#define NJ POLYBENCH_SIZE(22, 44, 90, 250, 500)
#endif
#ifndef NK
#define NK POLYBENCH_SIZE(24, 48, 100, 260, 520)
#endif

static void kernel_batched_gemm(int nb, int ni, int nj, int nk, DATA_TYPE C[nb][ni][nj],
                                DATA_TYPE A[nb][ni][nk], DATA_TYPE B[nb][nk][nj])
{
#pragma scop
    for (int b = 0; b < nb; b++)
        for (int i = 0; i < ni; i++)
            for (int j = 0; j < nj; j++) {
                C[b][i][j] = 0;
                for (int k = 0; k < nk; k++)
                    C[b][i][j] += A[b][i][k] * B[b][k][j];
            }
#pragma endscop
}

int main(void)
{
    int nb = NB;
    int ni = NI;
    int nj = NJ;
    int nk = NK;
    void *C = tensor_result((size_t) nb * ni * nj);
    void *A = tensor_input("A", 2, (size_t) nb * ni * nk);
    void *B = tensor_input("B", 3, (size_t) nb * nk * nj);

    polybench_start_instruments;
    kernel_batched_gemm(nb, ni, nj, nk, C, A, B);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("C", C, (size_t) nb * ni * nj);
    free(C);
    free(A);
    free(B);
    return 0;
}
