/*
 * 2mm: tmp := alpha A B, then D := tmp C + beta D,
 * with A: ni x nk, B: nk x nj, tmp: ni x nj, C: nj x nl, D: ni x nl.
 */
#include "polybench.h"

#ifndef NI
#define NI POLYBENCH_SIZE(16, 40, 180, 800, 1600)
#endif
#ifndef NJ
#define NJ POLYBENCH_SIZE(18, 50, 190, 900, 1800)
#endif
#ifndef NK
#define NK POLYBENCH_SIZE(22, 70, 210, 1100, 2200)
#endif
#ifndef NL
#define NL POLYBENCH_SIZE(24, 80, 220, 1200, 2400)
#endif

#define _PB_NI POLYBENCH_LOOP_BOUND(NI, ni)
#define _PB_NJ POLYBENCH_LOOP_BOUND(NJ, nj)
#define _PB_NK POLYBENCH_LOOP_BOUND(NK, nk)
#define _PB_NL POLYBENCH_LOOP_BOUND(NL, nl)

static void init_array(int rows, int columns, int array, DATA_TYPE X[rows][columns])
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            X[i][j] = (DATA_TYPE) polybench_random(array, i, j, 0);
}

static void kernel_2mm(int ni, int nj, int nk, int nl, DATA_TYPE alpha, DATA_TYPE beta,
                       DATA_TYPE POLYBENCH_2D(tmp, NI, NJ, ni, nj),
                       DATA_TYPE POLYBENCH_2D(A, NI, NK, ni, nk),
                       DATA_TYPE POLYBENCH_2D(B, NK, NJ, nk, nj),
                       DATA_TYPE POLYBENCH_2D(C, NJ, NL, nj, nl),
                       DATA_TYPE POLYBENCH_2D(D, NI, NL, ni, nl))
{
    int i, j, k;

#pragma scop
    for (i = 0; i < _PB_NI; i++)
        for (j = 0; j < _PB_NJ; j++) {
            tmp[i][j] = SCALAR_VAL(0.0);
            for (k = 0; k < _PB_NK; ++k)
                tmp[i][j] += alpha * A[i][k] * B[k][j];
        }
    for (i = 0; i < _PB_NI; i++)
        for (j = 0; j < _PB_NL; j++) {
            D[i][j] *= beta;
            for (k = 0; k < _PB_NJ; ++k)
                D[i][j] += tmp[i][k] * C[k][j];
        }
#pragma endscop
}

int main(void)
{
    int ni = NI;
    int nj = NJ;
    int nk = NK;
    int nl = NL;
    DATA_TYPE alpha = SCALAR_VAL(1.5);
    DATA_TYPE beta = SCALAR_VAL(1.2);
    POLYBENCH_2D_ARRAY_DECL(tmp, DATA_TYPE, NI, NJ, ni, nj);
    POLYBENCH_2D_ARRAY_DECL(A, DATA_TYPE, NI, NK, ni, nk);
    POLYBENCH_2D_ARRAY_DECL(B, DATA_TYPE, NK, NJ, nk, nj);
    POLYBENCH_2D_ARRAY_DECL(C, DATA_TYPE, NJ, NL, nj, nl);
    POLYBENCH_2D_ARRAY_DECL(D, DATA_TYPE, NI, NL, ni, nl);

    init_array(ni, nk, 1, POLYBENCH_ARRAY(A));
    init_array(nk, nj, 2, POLYBENCH_ARRAY(B));
    init_array(nj, nl, 3, POLYBENCH_ARRAY(C));
    init_array(ni, nl, 4, POLYBENCH_ARRAY(D));
    polybench_input("alpha", &alpha, 1);
    polybench_input("beta", &beta, 1);
    polybench_input("A", A, (size_t) ni * nk);
    polybench_input("B", B, (size_t) nk * nj);
    polybench_input("C", C, (size_t) nj * nl);
    polybench_input("D", D, (size_t) ni * nl);

    polybench_start_instruments;
    kernel_2mm(ni, nj, nk, nl, alpha, beta, POLYBENCH_ARRAY(tmp), POLYBENCH_ARRAY(A),
               POLYBENCH_ARRAY(B), POLYBENCH_ARRAY(C), POLYBENCH_ARRAY(D));
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("D", D, (size_t) ni * nl);
    POLYBENCH_FREE_ARRAY(tmp);
    POLYBENCH_FREE_ARRAY(A);
    POLYBENCH_FREE_ARRAY(B);
    POLYBENCH_FREE_ARRAY(C);
    POLYBENCH_FREE_ARRAY(D);
    return 0;
}
