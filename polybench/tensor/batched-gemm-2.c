/* batched-gemm-2: a product for each of nb x nh pairs; the second index of the pair lies between
 * row and column, so that the rows of a matrix are nh rows apart. */
#include "tensor.h"

#ifndef NB
#define NB POLYBENCH_SIZE(2, 3, 4, 4, 8)
#endif
#ifndef NH
#define NH POLYBENCH_SIZE(3, 4, 6, 12, 16)
#endif
#ifndef NI
#define NI POLYBENCH_SIZE(12, 20, 60, 256, 512)
#endif
#ifndef NJ
#define NJ POLYBENCH_SIZE(14, 22, 64, 256, 512)
#endif
#ifndef NK
#define NK POLYBENCH_SIZE(10, 24, 50, 128, 256)
#endif

static void kernel_batched_gemm_2(int nb, int nh, int ni, int nj, int nk,
                                  DATA_TYPE C[nb][ni][nh][nj], DATA_TYPE A[nb][ni][nh][nk],
                                  DATA_TYPE B[nb][nk][nh][nj])
{
#pragma scop
    for (int b = 0; b < nb; b++)
        for (int h = 0; h < nh; h++)
            for (int i = 0; i < ni; i++)
                for (int j = 0; j < nj; j++) {
                    C[b][i][h][j] = 0;
                    for (int k = 0; k < nk; k++)
                        C[b][i][h][j] += A[b][i][h][k] * B[b][k][h][j];
                }
#pragma endscop
}

int main(void)
{
    int nb = NB;
    int nh = NH;
    int ni = NI;
    int nj = NJ;
    int nk = NK;
    void *C = tensor_result((size_t) nb * ni * nh * nj);
    void *A = tensor_input("A", 2, (size_t) nb * ni * nh * nk);
    void *B = tensor_input("B", 3, (size_t) nb * nk * nh * nj);

    polybench_start_instruments;
    kernel_batched_gemm_2(nb, nh, ni, nj, nk, C, A, B);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("C", C, (size_t) nb * ni * nh * nj);
    free(C);
    free(A);
    free(B);
    return 0;
}
