/* Pieces of a split statement come before and behind a part without parallelism; each run of kernels keeps an empty
   child of the other. */
#include <math.h>

double f(int n, int m, double alpha, double *restrict B, double out[n + 7][n + 3])
{
#pragma scop
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < n; j++) {
            out[2 * i][j] = 0.125 * (j);
            if (j > i - 1) {
                double s = B[i % 5];
                out[i + 2 - i + 1][j + i] = 0.5 * out[j - 1 - i + 4][j + 1];
            }
        }
    }
#pragma endscop
    return alpha;
}
