#include <math.h>

void axpy_and_norm(int n, double a, double x[n], double y[n], double o[1])
{
#pragma scop
    double s = 0;
    for (int i = 0; i < n; i++) {
        y[i] += a * x[i];
        s += y[i] * y[i];
    }
    o[0] = sqrt(s);
#pragma endscop
}

void quadratic_form(int n, double A[n][n], double x[n], double o[1])
{
#pragma scop
    double s = 0;
    for (int i = 0; i < n; i++) {
        double row = 0;
        for (int j = 0; j < n; j++)
            row += A[i][j] * x[j];
        s += row * x[i];
    }
    o[0] = s;
#pragma endscop
}

void norms(int n, double x[n], double o[3])
{
#pragma scop
    double one = 0, two = 0, most = 0;
    for (int i = 0; i < n; i++) {
        double v = fabs(x[i]);
        one += v;
        two += v * v;
        most = fmax(most, v);
    }
    o[0] = one;
    o[1] = two;
    o[2] = most;
#pragma endscop
}

void jacobi_residual(int n, double A[n][n], double b[n], double x[n], double y[n], double o[1])
{
#pragma scop
    double r = 0;
    for (int i = 0; i < n; i++) {
        double s = b[i];
        for (int j = 0; j < n; j++)
            if (j != i)
                s -= A[i][j] * x[j];
        y[i] = s / (4 + fabs(A[i][i]));
        r += (y[i] - x[i]) * (y[i] - x[i]);
    }
    o[0] = r;
#pragma endscop
}

void normalise_columns(int n, int m, double A[n][m], double s[m])
{
#pragma scop
    for (int j = 0; j < m; j++) {
        double q = 0;
        for (int i = 0; i < n; i++)
            q += A[i][j] * A[i][j];
        s[j] = sqrt(q + 1);
        for (int i = 0; i < n; i++)
            A[i][j] /= s[j];
    }
#pragma endscop
}

void off_diagonal(int n, double A[n][n], double o[2])
{
#pragma scop
    double s = 0, most = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (i != j) {
                double v = fabs(A[i][j]);
                s += v;
                most = v > most ? v : most;
            }
    o[0] = s;
    o[1] = most;
#pragma endscop
}

void symmetric_check(int n, double A[n][n], int o[1])
{
#pragma scop
    int different = 0;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            if (A[i][j] != A[j][i])
                different++;
    o[0] = different;
#pragma endscop
}

void upper_sum(int n, double A[n][n], double r[n], double o[1])
{
#pragma scop
    double t = 0;
    for (int i = 0; i < n; i++) {
        r[i] = 0;
        for (int j = i; j < n; j++)
            r[i] += A[i][j];
        t += r[i];
    }
    o[0] = t;
#pragma endscop
}

void banded_product(int n, double A[n][5], double x[n], double y[n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        double s = 0;
        for (int k = 0; k < 5; k++)
            if (i + k - 2 >= 0 && i + k - 2 < n)
                s += A[i][k] * x[i + k - 2];
        y[i] = s;
    }
#pragma endscop
}

void rank_one_update(int n, int m, double A[n][m], double x[n], double y[m])
{
#pragma scop
    for (int i = 0; i < n; i++)
        if (x[i] != 0)
            for (int j = 0; j < m; j++)
                A[i][j] += x[i] * y[j];
#pragma endscop
}

void trace_and_frobenius(int n, double A[n][n], double o[2])
{
#pragma scop
    double trace = 0, all = 0;
    for (int i = 0; i < n; i++) {
        trace += A[i][i];
        for (int j = 0; j < n; j++)
            all += A[i][j] * A[i][j];
    }
    o[0] = trace;
    o[1] = all;
#pragma endscop
}

void scaled_rows(int n, int m, double A[n][m], double s)
{
#pragma scop
    if (s > 0)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                A[i][j] /= s + 1;
#pragma endscop
}
