/*
 * nussinov: RNA folding by dynamic programming. table_ij := the largest number of pairs that the
 * bases i..j can form without crossings: the best of leaving out j, leaving out i, pairing i
 * with j around i+1..j-1 (bases whose codes add up to 3 match), and splitting into i..k, k+1..j.
 *
 * The scores are int unless DATA_TYPE says otherwise.
 */
#define DEFAULT_DATA_TYPE int
#include "polybench.h"

#ifndef N
#define N POLYBENCH_SIZE(60, 180, 500, 2500, 5500)
#endif

#define _PB_N POLYBENCH_LOOP_BOUND(N, n)

typedef char base; /* 0..3 */

#define match(b1, b2) (((b1) + (b2)) == 3 ? 1 : 0)
#define max_score(s1, s2) ((s1) >= (s2) ? (s1) : (s2))

static void init_array(int n, base POLYBENCH_1D(seq, N, n),
                       DATA_TYPE POLYBENCH_2D(table, N, N, n, n))
{
    for (int i = 0; i < n; i++) {
        seq[i] = (base) (4.0 * polybench_random(1, i, 0, 0));
        for (int j = 0; j < n; j++)
            table[i][j] = 0;
    }
}

#ifdef POLYBENCH_DUMP_ARRAYS
static void print_sequence(int n, base POLYBENCH_1D(seq, N, n))
{
    printf("input seq");
    for (int i = 0; i < n; i++)
        printf(" %d", seq[i]);
    printf("\n");
}
#else
#define print_sequence(n, seq) ((void) 0)
#endif

static void kernel_nussinov(int n, base POLYBENCH_1D(seq, N, n),
                            DATA_TYPE POLYBENCH_2D(table, N, N, n, n))
{
    int i, j, k;

#pragma scop
    for (i = _PB_N - 1; i >= 0; i--) {
        for (j = i + 1; j < _PB_N; j++) {
            if (j - 1 >= 0)
                table[i][j] = max_score(table[i][j], table[i][j - 1]);
            if (i + 1 < _PB_N)
                table[i][j] = max_score(table[i][j], table[i + 1][j]);

            if (j - 1 >= 0 && i + 1 < _PB_N) {
                if (i < j - 1)
                    table[i][j] =
                        max_score(table[i][j], table[i + 1][j - 1] + match(seq[i], seq[j]));
                else
                    table[i][j] = max_score(table[i][j], table[i + 1][j - 1]);
            }

            for (k = i + 1; k < j; k++)
                table[i][j] = max_score(table[i][j], table[i][k] + table[k + 1][j]);
        }
    }
#pragma endscop
}

int main(void)
{
    int n = N;
    POLYBENCH_1D_ARRAY_DECL(seq, base, N, n);
    POLYBENCH_2D_ARRAY_DECL(table, DATA_TYPE, N, N, n, n);

    init_array(n, POLYBENCH_ARRAY(seq), POLYBENCH_ARRAY(table));
    print_sequence(n, POLYBENCH_ARRAY(seq));

    polybench_start_instruments;
    kernel_nussinov(n, POLYBENCH_ARRAY(seq), POLYBENCH_ARRAY(table));
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("table", table, (size_t) n * n);
    POLYBENCH_FREE_ARRAY(seq);
    POLYBENCH_FREE_ARRAY(table);
    return 0;
}
