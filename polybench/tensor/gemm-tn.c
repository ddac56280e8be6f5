/* gemm-tn: C := alpha A^T B + beta C, with C: ni x nj, A: nk x ni, B: nk x nj. */
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

static void kernel_gemm_tn(int ni, int nj, int nk, DATA_TYPE alpha, DATA_TYPE beta,
                           DATA_TYPE C[ni][nj], DATA_TYPE A[nk][ni], DATA_TYPE B[nk][nj])
{
#pragma scop
    for (int i = 0; i < ni; i++)
        for (int j = 0; j < nj; j++)
            C[i][j] *= beta;
    for (int k = 0; k < nk; k++)
        for (int i = 0; i < ni; i++)
            for (int j = 0; j < nj; j++)
                C[i][j] += alpha * A[k][i] * B[k][j];
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
    void *A = tensor_input("A", 2, (size_t) nk * ni);
    void *B = tensor_input("B", 3, (size_t) nk * nj);

    polybench_input("alpha", &alpha, 1);
    polybench_input("beta", &beta, 1);

    polybench_start_instruments;
    kernel_gemm_tn(ni, nj, nk, alpha, beta, C, A, B);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("C", C, (size_t) ni * nj);
    free(C);
    free(A);
    free(B);
    return 0;
}
