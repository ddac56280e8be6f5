/* A branch mentions s in a loop that never runs, in another kernel than the one that uses s. */
#include <math.h>
double f(int n, int m, double A[6][9], float B[4][4], double C[2 * n + 11][n + 8][n + 5], double x[n + m + 4])
{
    double r = 1.5;
#pragma scop
    for (int t = 0; t < n; t++) {
        for (int i = 0; i < 5; i += 3) {
            double s = r;
            if (x[(i + 1) % 3] < A[i + 1][i]) {
                for (int j = i; j < i; j++)
                    if (i % 3 == 1)
                        r += fmax(x[n - (j + 1) + 4], fabs(s));
            }
        }
        for (int i = 1; i < n - 1; i++)
            B[3][3] -= C[i + 1 + i][i + 2][i + 2] - 0.25 * x[(i + 1) / 2];
    }
#pragma endscop
    return r;
}
