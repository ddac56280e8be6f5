/* gemm-nt: C := alpha A B^T + beta C, with C: ni x nj, A: ni x nk, B: nj x nk. */
#include "tensor.h"

#ifndef NI
#define NI POLYBENCH_SIZE(20, 60, 200, 1000, 2000)
#endif
#ifndef NJ
#define NJ POLYBENCH_SIZE(25, 70, 220, 1100, 2300)
#endif
#ifndef NK
#define NK POLYBENCH_SIZE(30, 80, 240, 1200, 2600)
#endif

static void kernel_gemm_nt(int ni, int nj, int nk, DATA_TYPE alpha, DATA_TYPE beta,
                           DATA_TYPE C[ni][nj], DATA_TYPE A[ni][nk], DATA_TYPE B[nj][nk])
{
#pragma scop
    for (int i = 0; i < ni; i++)
        for (int j = 0; j < nj; j++) {
            C[i][j] *= beta;
            for (int k = 0; k < nk; k++)
                C[i][j] += alpha * A[i][k] * B[j][k];
        }
#pragma endscop
}

int main(void)
{
    int ni = NI;
    int nj = NJ;
    int nk = NK;
    DATA_TYPE alpha = SCALAR_VAL(1.5);
    DATA_TYPE beta = SCALAR_VAL(1.2);
    void *C = tensor_input("C", 1, (size_t) ni * nj);
    void *A = tensor_input("A", 2, (size_t) ni * nk);
    void *B = tensor_input("B", 3, (size_t) nj * nk);

    polybench_input("alpha", &alpha, 1);
    polybench_input("beta", &beta, 1);

    polybench_start_instruments;
    kernel_gemm_nt(ni, nj, nk, alpha, beta, C, A, B);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("C", C, (size_t) ni * nj);
    free(C);
    free(A);
    free(B);
    return 0;
}
