/* S2 becomes part of S3, which frees its name: the copy of r's last value must not take it. */
#include <math.h>
double f(int n, int m, double r, double B[m + 1][n + 1], double C[5][n + 1])
{
#pragma scop
    for (int p = 0; p < m; p++)
        for (int i = 0; i < n; i++) {
            double v = B[p][i] / 2;
            C[(i + 1) % 5][i] = 0.5 * (C[(i + 1) % 5][i] + 0.5 * v);
            for (int j = 1; j < p; j++) {
                v = 0.25;
                r = fmin(0.125 * 5, 0.5 * v);
            }
        }
#pragma endscop
    return r;
}
