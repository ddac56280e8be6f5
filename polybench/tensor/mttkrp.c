/* mttkrp: the tensor A, unfolded along its first index, times the Khatri-Rao product of B and D. */
#include "tensor.h"

#ifndef NI
#define NI POLYBENCH_SIZE(10, 20, 50, 150, 400)
#endif
#ifndef NJ
#define NJ POLYBENCH_SIZE(9, 16, 32, 64, 64)
#endif
#ifndef NK
#define NK POLYBENCH_SIZE(12, 22, 55, 160, 420)
#endif
#ifndef NL
#define NL POLYBENCH_SIZE(14, 24, 60, 170, 440)
#endif

static void kernel_mttkrp(int ni, int nj, int nk, int nl, DATA_TYPE C[ni][nj],
                          DATA_TYPE A[ni][nk][nl], DATA_TYPE B[nk][nj], DATA_TYPE D[nl][nj])
{
#pragma scop
    for (int i = 0; i < ni; i++)
        for (int j = 0; j < nj; j++) {
            C[i][j] = 0;
            for (int k = 0; k < nk; k++)
                for (int l = 0; l < nl; l++)
                    C[i][j] += A[i][k][l] * B[k][j] * D[l][j];
        }
#pragma endscop
}

int main(void)
{
    int ni = NI;
    int nj = NJ;
    int nk = NK;
    int nl = NL;
    void *C = tensor_result((size_t) ni * nj);
    void *A = tensor_input("A", 2, (size_t) ni * nk * nl);
    void *B = tensor_input("B", 3, (size_t) nk * nj);
    void *D = tensor_input("D", 4, (size_t) nl * nj);

    polybench_start_instruments;
    kernel_mttkrp(ni, nj, nk, nl, C, A, B, D);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("C", C, (size_t) ni * nj);
    free(C);
    free(A);
    free(B);
    free(D);
    return 0;
}
