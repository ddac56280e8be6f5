/* batched-syrk: C_b := alpha A_b A_b^T + beta C_b on and below the diagonal, for each of nb
 * matrices; what is above the diagonal stays as it was. */
#include "tensor.h"

#ifndef NB
#define NB POLYBENCH_SIZE(3, 5, 8, 40, 100)
#endif
#ifndef M
#define M POLYBENCH_SIZE(20, 44, 100, 260, 500)
#endif
#ifndef N
#define N POLYBENCH_SIZE(24, 40, 90, 240, 480)
#endif

static void kernel_batched_syrk(int nb, int m, int n, DATA_TYPE alpha, DATA_TYPE beta,
                                DATA_TYPE C[nb][n][n], DATA_TYPE A[nb][n][m])
{
#pragma scop
    for (int b = 0; b < nb; b++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++) {
                C[b][i][j] *= beta;
                for (int k = 0; k < m; k++)
                    C[b][i][j] += alpha * A[b][i][k] * A[b][j][k];
            }
#pragma endscop
}

int main(void)
{
    int nb = NB;
    int m = M;
    int n = N;
    DATA_TYPE alpha = SCALAR_VAL(1.5);
    DATA_TYPE beta = SCALAR_VAL(1.2);
    void *C = tensor_input("C", 1, (size_t) nb * n * n);
    void *A = tensor_input("A", 2, (size_t) nb * n * m);

    polybench_input("alpha", &alpha, 1);
    polybench_input("beta", &beta, 1);

    polybench_start_instruments;
    kernel_batched_syrk(nb, m, n, alpha, beta, C, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("C", C, (size_t) nb * n * n);
    free(C);
    free(A);
    return 0;
}
