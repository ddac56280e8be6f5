/* contraction-6: T_abcijk is increased by the sum over l of D_abil V_lcjk, as in the equations of
 * coupled clusters with triple excitations. */
#include "tensor.h"

#ifndef NA
#define NA POLYBENCH_SIZE(3, 4, 6, 12, 24)
#endif
#ifndef NB
#define NB POLYBENCH_SIZE(4, 5, 7, 13, 24)
#endif
#ifndef NC
#define NC POLYBENCH_SIZE(3, 6, 8, 14, 24)
#endif
#ifndef NI
#define NI POLYBENCH_SIZE(5, 4, 6, 10, 20)
#endif
#ifndef NJ
#define NJ POLYBENCH_SIZE(4, 5, 7, 11, 20)
#endif
#ifndef NK
#define NK POLYBENCH_SIZE(6, 6, 8, 12, 20)
#endif
#ifndef NL
#define NL POLYBENCH_SIZE(7, 8, 10, 16, 32)
#endif

static void kernel_contraction_6(int na, int nb, int nc, int ni, int nj, int nk, int nl,
                                 DATA_TYPE T[na][nb][nc][ni][nj][nk], DATA_TYPE D[na][nb][ni][nl],
                                 DATA_TYPE V[nl][nc][nj][nk])
{
#pragma scop
    for (int a = 0; a < na; a++)
        for (int b = 0; b < nb; b++)
            for (int c = 0; c < nc; c++)
                for (int i = 0; i < ni; i++)
                    for (int j = 0; j < nj; j++)
                        for (int k = 0; k < nk; k++)
                            for (int l = 0; l < nl; l++)
                                T[a][b][c][i][j][k] += D[a][b][i][l] * V[l][c][j][k];
#pragma endscop
}

int main(void)
{
    int na = NA;
    int nb = NB;
    int nc = NC;
    int ni = NI;
    int nj = NJ;
    int nk = NK;
    int nl = NL;
    void *T = tensor_input("T", 1, (size_t) na * nb * nc * ni * nj * nk);
    void *D = tensor_input("D", 2, (size_t) na * nb * ni * nl);
    void *V = tensor_input("V", 3, (size_t) nl * nc * nj * nk);

    polybench_start_instruments;
    kernel_contraction_6(na, nb, nc, ni, nj, nk, nl, T, D, V);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("T", T, (size_t) na * nb * nc * ni * nj * nk);
    free(T);
    free(D);
    free(V);
    return 0;
}
