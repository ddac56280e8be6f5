/* gemm-small-k: C := A B with an inner extent of 3: more is written than read. */
#include "tensor.h"

#ifndef NI
#define NI POLYBENCH_SIZE(20, 60, 200, 4000, 12000)
#endif
#ifndef NJ
#define NJ POLYBENCH_SIZE(25, 70, 220, 4100, 12100)
#endif

static void kernel_gemm_small_k(int ni, int nj, DATA_TYPE C[ni][nj], DATA_TYPE A[ni][3],
                                DATA_TYPE B[3][nj])
{
#pragma scop
    for (int i = 0; i < ni; i++)
        for (int j = 0; j < nj; j++) {
            C[i][j] = 0;
            for (int k = 0; k < 3; k++)
                C[i][j] += A[i][k] * B[k][j];
        }
#pragma endscop
}

int main(void)
{
    int ni = NI;
    int nj = NJ;
    void *C = tensor_result((size_t) ni * nj);
    void *A = tensor_input("A", 2, (size_t) ni * 3);
    void *B = tensor_input("B", 3, (size_t) 3 * nj);

    polybench_start_instruments;
    kernel_gemm_small_k(ni, nj, C, A, B);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("C", C, (size_t) ni * nj);
    free(C);
    free(A);
    free(B);
    return 0;
}
