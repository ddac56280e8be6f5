/*
 * doitgen: A_rqp := sum over s of A_rqs C4_sp, with A: nr x nq x np and C4: np x np:
 * every row of np elements of A is multiplied by the matrix C4, in place, through the row sum.
 *
 * The arrays are pointers to rows of variable length, and the kernel is part of main.
 */
#include "polybench.h"

#ifndef NQ
#define NQ POLYBENCH_SIZE(8, 20, 40, 140, 220)
#endif
#ifndef NR
#define NR POLYBENCH_SIZE(10, 25, 50, 150, 250)
#endif
#ifndef NP
#define NP POLYBENCH_SIZE(12, 30, 60, 160, 270)
#endif

int main(void)
{
    int nr = NR;
    int nq = NQ;
    int np = NP;

    if (nr < 1 || nq < 1 || np < 1) { /* array types have at least one element */
        polybench_output("A", NULL, 0);
        return 0;
    }

    DATA_TYPE(*A)[nq][np] = malloc(sizeof(DATA_TYPE[nr][nq][np]));
    DATA_TYPE(*C4)[np] = malloc(sizeof(DATA_TYPE[np][np]));
    DATA_TYPE *sum = malloc(np * sizeof *sum);

    if (A == NULL || C4 == NULL || sum == NULL)
        return EXIT_FAILURE;
    for (int r = 0; r < nr; r++)
        for (int q = 0; q < nq; q++)
            for (int p = 0; p < np; p++)
                A[r][q][p] = (DATA_TYPE) polybench_random(1, r, q, p);
    for (int s = 0; s < np; s++)
        for (int p = 0; p < np; p++)
            C4[s][p] = (DATA_TYPE) polybench_random(2, s, p, 0);
    polybench_input("A", A, (size_t) nr * nq * np);
    polybench_input("C4", C4, (size_t) np * np);

    polybench_start_instruments;
#pragma scop
    for (int r = 0; r < nr; r++)
        for (int q = 0; q < nq; q++) {
            for (int p = 0; p < np; p++) {
                sum[p] = SCALAR_VAL(0.0);
                for (int s = 0; s < np; s++)
                    sum[p] += A[r][q][s] * C4[s][p];
            }
            for (int p = 0; p < np; p++)
                A[r][q][p] = sum[p];
        }
#pragma endscop
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, (size_t) nr * nq * np);
    free(A);
    free(C4);
    free(sum);
    return 0;
}
