#include <math.h>

void mean_and_variance(int n, double x[n], double o[2])
{
#pragma scop
    double s = 0, q = 0;
    for (int i = 0; i < n; i++) {
        double v = x[i];
        s += v;
        q += v * v;
    }
    o[0] = s / (n + 1);
    o[1] = q / (n + 1);
#pragma endscop
}

void range_of_values(int n, double x[n], double o[2])
{
#pragma scop
    double lo = 100, hi = -100;
    for (int i = 0; i < n; i++) {
        if (x[i] < lo) lo = x[i];
        if (x[i] > hi) hi = x[i];
    }
    o[0] = lo;
    o[1] = hi;
#pragma endscop
}

void covariance_of_two(int n, double x[n], double y[n], double mx, double my, double o[3])
{
#pragma scop
    double xx = 0, yy = 0, xy = 0;
    for (int i = 0; i < n; i++) {
        double a = x[i] - mx, b = y[i] - my;
        xx += a * a;
        yy += b * b;
        xy += a * b;
    }
    o[0] = xx;
    o[1] = yy;
    o[2] = xy;
#pragma endscop
}

void counts_above_and_below(int n, double x[n], double level, int o[2])
{
#pragma scop
    int above = 0, below = 0;
    for (int i = 0; i < n; i++)
        if (x[i] > level)
            above++;
        else
            below++;
    o[0] = above;
    o[1] = below;
#pragma endscop
}

void missing_values(int n, double x[n], double o[2], int c[1])
{
#pragma scop
    double s = 0, q = 0;
    int kept = 0;
    for (int i = 0; i < n; i++) {
        if (x[i] < -0.5)
            continue;
        double d = x[i] - 1;
        s += d;
        q += d * d;
        kept++;
    }
    o[0] = s;
    o[1] = q;
    c[0] = kept;
#pragma endscop
}

void kendall(int n, double x[n], double y[n], int o[2])
{
#pragma scop
    int with = 0, against = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            double p = (x[i] - x[j]) * (y[i] - y[j]);
            if (p > 0)
                with++;
            else if (p < 0)
                against++;
        }
    o[0] = with;
    o[1] = against;
#pragma endscop
}

void histograms_of_rows(int n, int m, int X[n][m], int H[n][8])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        int h[8];
        for (int k = 0; k < 8; k++)
            h[k] = 0;
        for (int j = 0; j < m; j++)
            h[X[i][j] & 7]++;
        for (int k = 0; k < 8; k++)
            H[i][k] = h[k];
    }
#pragma endscop
}

void histogram(int n, int x[n], int h[16])
{
#pragma scop
    for (int i = 0; i < n; i++)
        h[x[i] & 15] += 1;
#pragma endscop
}

void winsorize(int n, double x[n], double lo, double hi, int o[1])
{
#pragma scop
    int changed = 0;
    for (int i = 0; i < n; i++) {
        if (x[i] < lo) {
            x[i] = lo;
            changed++;
        }
        if (x[i] > hi) {
            x[i] = hi;
            changed++;
        }
    }
    o[0] = changed;
#pragma endscop
}

void column_means(int n, int m, double A[n][m], double mean[m])
{
#pragma scop
    for (int j = 0; j < m; j++)
        mean[j] = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            mean[j] += A[i][j];
    for (int j = 0; j < m; j++)
        mean[j] /= n + 1;
#pragma endscop
}

void chi_squared(int n, int m, double A[n][m], double r[n], double c[m], double o[1])
{
#pragma scop
    double s = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            double expected = r[i] * c[j] + 2;
            double d = A[i][j] - expected;
            s += d * d / expected;
        }
    o[0] = s;
#pragma endscop
}

void weighted_median_of_three(int n, double x[n], double y[n])
{
#pragma scop
    for (int i = 1; i < n - 1; i++) {
        double a = x[i - 1], b = x[i], c = x[i + 1], t;
        if (a > b) { t = a; a = b; b = t; }
        if (b > c) { t = b; b = c; c = t; }
        if (a > b) { t = a; a = b; b = t; }
        y[i] = b;
    }
#pragma endscop
}
