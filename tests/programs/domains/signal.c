#include <math.h>

void filter(int n, int taps, double x[n + taps], double h[taps], double y[n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        double s = 0;
        for (int k = 0; k < taps; k++)
            s += h[k] * x[i + k];
        y[i] = s;
    }
#pragma endscop
}

void energy_and_peak(int n, double x[n], double o[2])
{
#pragma scop
    double e = 0, peak = 0;
    for (int i = 0; i < n; i++) {
        e += x[i] * x[i];
        if (fabs(x[i]) > peak)
            peak = fabs(x[i]);
    }
    o[0] = e;
    o[1] = peak;
#pragma endscop
}

void zero_crossings(int n, double x[n], int o[1])
{
#pragma scop
    int c = 0;
    for (int i = 1; i < n; i++)
        if (x[i - 1] * x[i] < 0)
            c++;
    o[0] = c;
#pragma endscop
}

void clipped(int n, double x[n], double y[n], int o[2])
{
#pragma scop
    int low = 0, high = 0;
    for (int i = 0; i < n; i++) {
        double v = x[i] * 2;
        if (v > 0.5) {
            v = 0.5;
            high = 1;
        } else if (v < -0.5) {
            v = -0.5;
            low = 1;
        }
        y[i] = v;
    }
    o[0] = low;
    o[1] = high;
#pragma endscop
}

void autocorrelation(int n, int lags, double x[n], double r[lags])
{
#pragma scop
    for (int k = 0; k < lags; k++) {
        double s = 0;
        for (int i = 0; i < n - k; i++)
            s += x[i] * x[i + k];
        r[k] = s;
    }
#pragma endscop
}

void decimate(int n, double x[2 * n], double y[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        y[i] = (x[2 * i] + x[2 * i + 1]) / 2;
#pragma endscop
}

void haar_step(int n, double x[2 * n], double a[n], double d[n], double o[1])
{
#pragma scop
    double detail = 0;
    for (int i = 0; i < n; i++) {
        double l = x[2 * i], r = x[2 * i + 1];
        a[i] = (l + r) / 2;
        d[i] = (l - r) / 2;
        detail += d[i] * d[i];
    }
    o[0] = detail;
#pragma endscop
}

void window_function(int n, double x[n], double o[1])
{
#pragma scop
    double s = 0;
    for (int i = 0; i < n; i++) {
        double w = 0.5 - 0.25 * i / n;
        x[i] *= w;
        s += w;
    }
    o[0] = s;
#pragma endscop
}

void spectrum(int n, double re[n], double im[n], double p[n], double o[2])
{
#pragma scop
    double total = 0, most = 0;
    for (int k = 0; k < n; k++) {
        double v = re[k] * re[k] + im[k] * im[k];
        p[k] = v;
        total += v;
        most = v > most ? v : most;
    }
    o[0] = total;
    o[1] = most;
#pragma endscop
}

void fourier_sums(int n, int m, double x[n], double c[m][n], double s[m][n], double p[m])
{
#pragma scop
    for (int k = 0; k < m; k++) {
        double re = 0, im = 0;
        for (int i = 0; i < n; i++) {
            re += x[i] * c[k][i];
            im -= x[i] * s[k][i];
        }
        p[k] = re * re + im * im;
    }
#pragma endscop
}

void moving_maximum(int n, double x[n + 8], double y[n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        double most = x[i];
        for (int k = 1; k < 8; k++)
            if (x[i + k] > most)
                most = x[i + k];
        y[i] = most;
    }
#pragma endscop
}

void mean_removed(int n, double x[n], double o[1])
{
#pragma scop
    double s = 0;
    for (int i = 0; i < n; i++)
        s += x[i];
    double mean = s / (n + 1);
    for (int i = 0; i < n; i++)
        x[i] -= mean;
    o[0] = mean;
#pragma endscop
}
