/* batched-gemm-prime: nb products of constant extents that no tile divides: 61 x 67, sums of 37. */
#include "tensor.h"

#ifndef NB
#define NB POLYBENCH_SIZE(3, 10, 60, 3000, 24000)
#endif

static void kernel_batched_gemm_prime(int nb, DATA_TYPE C[nb][61][67], DATA_TYPE A[nb][61][37],
                                      DATA_TYPE B[nb][37][67])
{
#pragma scop
    for (int b = 0; b < nb; b++)
        for (int i = 0; i < 61; i++)
            for (int j = 0; j < 67; j++) {
                C[b][i][j] = 0;
                for (int k = 0; k < 37; k++)
                    C[b][i][j] += A[b][i][k] * B[b][k][j];
            }
#pragma endscop
}

int main(void)
{
    int nb = NB;
    void *C = tensor_result((size_t) nb * 61 * 67);
    void *A = tensor_input("A", 2, (size_t) nb * 61 * 37);
    void *B = tensor_input("B", 3, (size_t) nb * 37 * 67);

    polybench_start_instruments;
    kernel_batched_gemm_prime(nb, C, A, B);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("C", C, (size_t) nb * 61 * 67);
    free(C);
    free(A);
    free(B);
    return 0;
}
