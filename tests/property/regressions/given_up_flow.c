/* isl gives the flow of one array up, whatever its budget. */
#include <math.h>
static double mix(double a, double b) { return 0.5 * (a + b); }
static inline float half(float a) { return a * 0.5f; }
static double nested(double a) { return half((float)a) + mix(a, 0.25) / 2; }

double g(int n, int m, double alpha)
{
    double C[n + 1][n + 1];
    for (int f0 = 0; f0 < n + 1; f0++)
        for (int f1 = 0; f1 < n + 1; f1++)
            C[f0][f1] = 0.125 * alpha;
    double r = alpha;
#pragma scop
    for (int i = n - 1; i >= 0; i -= 2) {
        double s = 0.1;
        for (int j = n - 1; j >= i; j--) {
            float z2[n + 1];
            for (int f0 = 0; f0 < n + 1; f0++)
                z2[f0] = r;
            z2[j] = 0.5 * (z2[j + 1] + fmin(nested(r), 0.5 * 0.5 * (s + C[i][j + 1])));
        }
    }
#pragma endscop
    return (double)r + (double)C[0][0];
}
