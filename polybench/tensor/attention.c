/*
 * attention: O := softmax(scale Q K^T) V for each of nh heads, with nq queries, nk keys and nd
 * features; the softmax of a row is taken relative to its largest element. S holds the weights
 * before they are divided by their sum.
 */
#include "tensor.h"

#ifndef NH
#define NH POLYBENCH_SIZE(2, 3, 4, 8, 16)
#endif
#ifndef NQ
#define NQ POLYBENCH_SIZE(18, 40, 120, 1024, 2048)
#endif
#ifndef NK
#define NK POLYBENCH_SIZE(20, 44, 130, 1024, 2048)
#endif
#ifndef ND
#define ND POLYBENCH_SIZE(6, 16, 32, 64, 64)
#endif

static void kernel_attention(int nh, int nq, int nk, int nd, DATA_TYPE scale,
                             DATA_TYPE O[nh][nq][nd], DATA_TYPE S[nh][nq][nk],
                             DATA_TYPE Q[nh][nq][nd], DATA_TYPE K[nh][nk][nd],
                             DATA_TYPE V[nh][nk][nd])
{
#pragma scop
    for (int h = 0; h < nh; h++)
        for (int i = 0; i < nq; i++) {
            DATA_TYPE largest = SCALAR_VAL(-1.0e30);
            DATA_TYPE sum = 0;
            for (int j = 0; j < nk; j++) {
                S[h][i][j] = 0;
                for (int d = 0; d < nd; d++)
                    S[h][i][j] += Q[h][i][d] * K[h][j][d];
                S[h][i][j] *= scale;
            }
            for (int j = 0; j < nk; j++)
                largest = S[h][i][j] > largest ? S[h][i][j] : largest;
            for (int j = 0; j < nk; j++) {
                S[h][i][j] = EXP_FUN(S[h][i][j] - largest);
                sum += S[h][i][j];
            }
            for (int d = 0; d < nd; d++) {
                O[h][i][d] = 0;
                for (int j = 0; j < nk; j++)
                    O[h][i][d] += S[h][i][j] * V[h][j][d];
                O[h][i][d] /= sum;
            }
        }
#pragma endscop
}

int main(void)
{
    int nh = NH;
    int nq = NQ;
    int nk = NK;
    int nd = ND;
    DATA_TYPE scale = SCALAR_VAL(0.125);
    void *O = tensor_result((size_t) nh * nq * nd);
    void *S = tensor_result((size_t) nh * nq * nk);
    void *Q = tensor_input("Q", 3, (size_t) nh * nq * nd);
    void *K = tensor_input("K", 4, (size_t) nh * nk * nd);
    void *V = tensor_input("V", 5, (size_t) nh * nk * nd);

    polybench_input("scale", &scale, 1);

    polybench_start_instruments;
    kernel_attention(nh, nq, nk, nd, scale, O, S, Q, K, V);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("O", O, (size_t) nh * nq * nd);
    polybench_output("S", S, (size_t) nh * nq * nk);
    free(O);
    free(S);
    free(Q);
    free(K);
    free(V);
    return 0;
}
