/*
 * 3mm: E := A B, F := C D, then G := E F,
 * with A: ni x nk, B: nk x nj, C: nj x nm, D: nm x nl, E: ni x nj, F: nj x nl, G: ni x nl.
 */
#include "polybench.h"

#ifndef NI
#define NI POLYBENCH_SIZE(16, 40, 180, 800, 1600)
#endif
#ifndef NJ
#define NJ POLYBENCH_SIZE(18, 50, 190, 900, 1800)
#endif
#ifndef NK
#define NK POLYBENCH_SIZE(20, 60, 200, 1000, 2000)
#endif
#ifndef NL
#define NL POLYBENCH_SIZE(22, 70, 210, 1100, 2200)
#endif
#ifndef NM
#define NM POLYBENCH_SIZE(24, 80, 220, 1200, 2400)
#endif

#define _PB_NI POLYBENCH_LOOP_BOUND(NI, ni)
#define _PB_NJ POLYBENCH_LOOP_BOUND(NJ, nj)
#define _PB_NK POLYBENCH_LOOP_BOUND(NK, nk)
#define _PB_NL POLYBENCH_LOOP_BOUND(NL, nl)
#define _PB_NM POLYBENCH_LOOP_BOUND(NM, nm)

static void init_array(int rows, int columns, int array, DATA_TYPE X[rows][columns])
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            X[i][j] = (DATA_TYPE) polybench_random(array, i, j, 0);
}

static void kernel_3mm(int ni, int nj, int nk, int nl, int nm,
                       DATA_TYPE POLYBENCH_2D(E, NI, NJ, ni, nj),
                       DATA_TYPE POLYBENCH_2D(A, NI, NK, ni, nk),
                       DATA_TYPE POLYBENCH_2D(B, NK, NJ, nk, nj),
                       DATA_TYPE POLYBENCH_2D(F, NJ, NL, nj, nl),
                       DATA_TYPE POLYBENCH_2D(C, NJ, NM, nj, nm),
                       DATA_TYPE POLYBENCH_2D(D, NM, NL, nm, nl),
                       DATA_TYPE POLYBENCH_2D(G, NI, NL, ni, nl))
{
    int i, j, k;

#pragma scop
    for (i = 0; i < _PB_NI; i++)
        for (j = 0; j < _PB_NJ; j++) {
            E[i][j] = SCALAR_VAL(0.0);
            for (k = 0; k < _PB_NK; ++k)
                E[i][j] += A[i][k] * B[k][j];
        }
    for (i = 0; i < _PB_NJ; i++)
        for (j = 0; j < _PB_NL; j++) {
            F[i][j] = SCALAR_VAL(0.0);
            for (k = 0; k < _PB_NM; ++k)
                F[i][j] += C[i][k] * D[k][j];
        }
    for (i = 0; i < _PB_NI; i++)
        for (j = 0; j < _PB_NL; j++) {
            G[i][j] = SCALAR_VAL(0.0);
            for (k = 0; k < _PB_NJ; ++k)
                G[i][j] += E[i][k] * F[k][j];
        }
#pragma endscop
}

int main(void)
{
    int ni = NI;
    int nj = NJ;
    int nk = NK;
    int nl = NL;
    int nm = NM;
    POLYBENCH_2D_ARRAY_DECL(E, DATA_TYPE, NI, NJ, ni, nj);
    POLYBENCH_2D_ARRAY_DECL(A, DATA_TYPE, NI, NK, ni, nk);
    POLYBENCH_2D_ARRAY_DECL(B, DATA_TYPE, NK, NJ, nk, nj);
    POLYBENCH_2D_ARRAY_DECL(F, DATA_TYPE, NJ, NL, nj, nl);
    POLYBENCH_2D_ARRAY_DECL(C, DATA_TYPE, NJ, NM, nj, nm);
    POLYBENCH_2D_ARRAY_DECL(D, DATA_TYPE, NM, NL, nm, nl);
    POLYBENCH_2D_ARRAY_DECL(G, DATA_TYPE, NI, NL, ni, nl);

    init_array(ni, nk, 1, POLYBENCH_ARRAY(A));
    init_array(nk, nj, 2, POLYBENCH_ARRAY(B));
    init_array(nj, nm, 3, POLYBENCH_ARRAY(C));
    init_array(nm, nl, 4, POLYBENCH_ARRAY(D));
    polybench_input("A", A, (size_t) ni * nk);
    polybench_input("B", B, (size_t) nk * nj);
    polybench_input("C", C, (size_t) nj * nm);
    polybench_input("D", D, (size_t) nm * nl);

    polybench_start_instruments;
    kernel_3mm(ni, nj, nk, nl, nm, POLYBENCH_ARRAY(E), POLYBENCH_ARRAY(A), POLYBENCH_ARRAY(B),
               POLYBENCH_ARRAY(F), POLYBENCH_ARRAY(C), POLYBENCH_ARRAY(D), POLYBENCH_ARRAY(G));
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("G", G, (size_t) ni * nl);
    POLYBENCH_FREE_ARRAY(E);
    POLYBENCH_FREE_ARRAY(A);
    POLYBENCH_FREE_ARRAY(B);
    POLYBENCH_FREE_ARRAY(F);
    POLYBENCH_FREE_ARRAY(C);
    POLYBENCH_FREE_ARRAY(D);
    POLYBENCH_FREE_ARRAY(G);
    return 0;
}
