/* contraction-4: C_abcd := sum over e and f of A_aebf B_ecfd. */
#include "tensor.h"

#ifndef NA
#define NA POLYBENCH_SIZE(6, 8, 12, 24, 48)
#endif
#ifndef NB
#define NB POLYBENCH_SIZE(5, 7, 13, 26, 46)
#endif
#ifndef NC
#define NC POLYBENCH_SIZE(4, 6, 14, 28, 44)
#endif
#ifndef ND
#define ND POLYBENCH_SIZE(7, 9, 15, 30, 48)
#endif
#ifndef NE
#define NE POLYBENCH_SIZE(3, 5, 12, 24, 42)
#endif
#ifndef NF
#define NF POLYBENCH_SIZE(5, 6, 10, 22, 40)
#endif

static void kernel_contraction_4(int na, int nb, int nc, int nd, int ne, int nf,
                                 DATA_TYPE C[na][nb][nc][nd], DATA_TYPE A[na][ne][nb][nf],
                                 DATA_TYPE B[ne][nc][nf][nd])
{
#pragma scop
    for (int a = 0; a < na; a++)
        for (int b = 0; b < nb; b++)
            for (int c = 0; c < nc; c++)
                for (int d = 0; d < nd; d++) {
                    C[a][b][c][d] = 0;
                    for (int e = 0; e < ne; e++)
                        for (int f = 0; f < nf; f++)
                            C[a][b][c][d] += A[a][e][b][f] * B[e][c][f][d];
                }
#pragma endscop
}

int main(void)
{
    int na = NA;
    int nb = NB;
    int nc = NC;
    int nd = ND;
    int ne = NE;
    int nf = NF;
    void *C = tensor_result((size_t) na * nb * nc * nd);
    void *A = tensor_input("A", 2, (size_t) na * ne * nb * nf);
    void *B = tensor_input("B", 3, (size_t) ne * nc * nf * nd);

    polybench_start_instruments;
    kernel_contraction_4(na, nb, nc, nd, ne, nf, C, A, B);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("C", C, (size_t) na * nb * nc * nd);
    free(C);
    free(A);
    free(B);
    return 0;
}
