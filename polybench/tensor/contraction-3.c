/* contraction-3: C_abc := sum over d and e of A_adce B_deb, as in a change of basis. */
#include "tensor.h"

#ifndef NA
#define NA POLYBENCH_SIZE(6, 10, 24, 60, 120)
#endif
#ifndef NB
#define NB POLYBENCH_SIZE(7, 11, 22, 64, 130)
#endif
#ifndef NC
#define NC POLYBENCH_SIZE(8, 12, 20, 56, 110)
#endif
#ifndef ND
#define ND POLYBENCH_SIZE(5, 9, 18, 40, 72)
#endif
#ifndef NE
#define NE POLYBENCH_SIZE(4, 8, 16, 44, 80)
#endif

static void kernel_contraction_3(int na, int nb, int nc, int nd, int ne, DATA_TYPE C[na][nb][nc],
                                 DATA_TYPE A[na][nd][nc][ne], DATA_TYPE B[nd][ne][nb])
{
#pragma scop
    for (int a = 0; a < na; a++)
        for (int b = 0; b < nb; b++)
            for (int c = 0; c < nc; c++) {
                C[a][b][c] = 0;
                for (int d = 0; d < nd; d++)
                    for (int e = 0; e < ne; e++)
                        C[a][b][c] += A[a][d][c][e] * B[d][e][b];
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
    void *C = tensor_result((size_t) na * nb * nc);
    void *A = tensor_input("A", 2, (size_t) na * nd * nc * ne);
    void *B = tensor_input("B", 3, (size_t) nd * ne * nb);

    polybench_start_instruments;
    kernel_contraction_3(na, nb, nc, nd, ne, C, A, B);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("C", C, (size_t) na * nb * nc);
    free(C);
    free(A);
    free(B);
    return 0;
}
