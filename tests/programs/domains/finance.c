#include <math.h>

void monte_carlo(int n, int steps, double z[n][steps], double strike, double o[1])
{
#pragma scop
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double s = 1;
        for (int t = 0; t < steps; t++)
            s *= 1 + z[i][t] / 16;
        double pay = s - strike;
        if (pay > 0)
            sum += pay;
    }
    o[0] = sum / (n + 1);
#pragma endscop
}

void present_values(int n, int m, double cash[n][m], double rate[m], double v[n], double o[1])
{
#pragma scop
    double total = 0;
    for (int i = 0; i < n; i++) {
        double s = 0;
        for (int t = 0; t < m; t++)
            s += cash[i][t] * rate[t];
        v[i] = s;
        total += s;
    }
    o[0] = total;
#pragma endscop
}

void profit_and_loss(int n, double p[n], double o[2], int c[2])
{
#pragma scop
    double gain = 0, loss = 0;
    int up = 0, down = 0;
    for (int i = 0; i < n; i++)
        if (p[i] > 0) {
            gain += p[i];
            up++;
        } else {
            loss -= p[i];
            down++;
        }
    o[0] = gain;
    o[1] = loss;
    c[0] = up;
    c[1] = down;
#pragma endscop
}

void returns(int n, double price[n], double r[n], double o[2])
{
#pragma scop
    double s = 0, q = 0;
    for (int i = 1; i < n; i++) {
        double x = (price[i] - price[i - 1]) / (fabs(price[i - 1]) + 1);
        r[i] = x;
        s += x;
        q += x * x;
    }
    o[0] = s;
    o[1] = q;
#pragma endscop
}

void portfolio_variance(int n, double C[n][n], double w[n], double o[1])
{
#pragma scop
    double v = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            v += w[i] * C[i][j] * w[j];
    o[0] = v;
#pragma endscop
}

void margin_calls(int n, double equity[n], double need[n], int called[n], int o[1])
{
#pragma scop
    int count = 0;
    for (int i = 0; i < n; i++) {
        called[i] = 0;
        if (equity[i] < need[i]) {
            called[i] = 1;
            count++;
        }
    }
    o[0] = count;
#pragma endscop
}

void implied_rates(int n, double price[n], double rate[n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        double r = 0.05;
        for (int k = 0; k < 8; k++)
            r = r - (1 / (1 + r) - price[i] * 0.01) * 0.1;
        rate[i] = r;
    }
#pragma endscop
}

void option_lattice_level(int n, double v[n + 1], double w[n], double p, double q)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        double hold = p * v[i + 1] + q * v[i];
        double exercise = 1 - 0.01 * i;
        w[i] = hold > exercise ? hold : exercise;
    }
#pragma endscop
}

void largest_drop(int n, double x[n], double o[1])
{
#pragma scop
    double worst = 0;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            double d = x[i] - x[j];
            if (d > worst)
                worst = d;
        }
    o[0] = worst;
#pragma endscop
}

void exposure_by_class(int n, int class[n], int amount[n], int e[8])
{
#pragma scop
    for (int k = 0; k < 8; k++)
        e[k] = 0;
    for (int i = 0; i < n; i++)
        e[class[i] & 7] += amount[i] & 1023;
#pragma endscop
}

void discounted(int n, double x[n], double factor)
{
#pragma scop
    if (factor > 0)
        for (int i = 0; i < n; i++)
            x[i] /= 1 + factor;
    else
        for (int i = 0; i < n; i++)
            x[i] = 0;
#pragma endscop
}

void correlations(int n, int m, double X[n][m], double C[n][n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) {
            double s = 0;
            for (int k = 0; k < m; k++)
                s += X[i][k] * X[j][k];
            C[i][j] = s / m;
            C[j][i] = s / m;
        }
#pragma endscop
}
