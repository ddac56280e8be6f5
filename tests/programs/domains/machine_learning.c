#include <math.h>

void mean_squared_error(int n, int m, double X[n][m], double w[m], double y[n], double o[1])
{
#pragma scop
    double loss = 0;
    for (int i = 0; i < n; i++) {
        double p = 0;
        for (int j = 0; j < m; j++)
            p += X[i][j] * w[j];
        double d = p - y[i];
        loss += d * d / n;
    }
    o[0] = loss;
#pragma endscop
}

void loss_and_gradient(int n, int m, double X[n][m], double w[m], double y[n], double g[m], double o[1])
{
#pragma scop
    double loss = 0;
    for (int j = 0; j < m; j++)
        g[j] = 0;
    for (int i = 0; i < n; i++) {
        double p = 0;
        for (int j = 0; j < m; j++)
            p += X[i][j] * w[j];
        double d = p - y[i];
        loss += d * d;
        for (int j = 0; j < m; j++)
            g[j] += d * X[i][j];
    }
    o[0] = loss;
#pragma endscop
}

void softmax(int n, int m, float A[n][m])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        float most = A[i][0], s = 0;
        for (int j = 1; j < m; j++)
            most = fmaxf(most, A[i][j]);
        for (int j = 0; j < m; j++) {
            A[i][j] = expf(A[i][j] - most);
            s += A[i][j];
        }
        for (int j = 0; j < m; j++)
            A[i][j] /= s;
    }
#pragma endscop
}

void layer_norm(int n, int m, float A[n][m], float B[n][m])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        float s = 0, q = 0;
        for (int j = 0; j < m; j++) {
            float v = A[i][j];
            s += v;
            q += v * v;
        }
        float mean = s / m, scale = 1 / sqrtf(q / m + 1);
        for (int j = 0; j < m; j++)
            B[i][j] = (A[i][j] - mean) * scale;
    }
#pragma endscop
}

void rectified(int n, double x[n], double y[n], int o[1])
{
#pragma scop
    int active = 0;
    for (int i = 0; i < n; i++) {
        y[i] = x[i] > 0 ? x[i] : 0;
        if (x[i] > 0)
            active++;
    }
    o[0] = active;
#pragma endscop
}

void nearest_centre_cost(int n, int k, double x[n], double y[n], double cx[k], double cy[k], double o[1])
{
#pragma scop
    double cost = 0;
    for (int i = 0; i < n; i++) {
        double least = 1e9;
        for (int c = 0; c < k; c++) {
            double d = (x[i] - cx[c]) * (x[i] - cx[c]) + (y[i] - cy[c]) * (y[i] - cy[c]);
            if (d < least)
                least = d;
        }
        cost += least;
    }
    o[0] = cost;
#pragma endscop
}

void clip_by_norm(int n, double g[n], double limit, double o[1])
{
#pragma scop
    double s = 0;
    for (int i = 0; i < n; i++)
        s += g[i] * g[i];
    double norm = sqrt(s);
    if (norm > limit)
        for (int i = 0; i < n; i++)
            g[i] *= limit / norm;
    o[0] = norm;
#pragma endscop
}

void dropout(int n, int keep[n], double x[n], double o[1])
{
#pragma scop
    double s = 0;
    for (int i = 0; i < n; i++) {
        if (keep[i] > 0)
            x[i] *= 2;
        else
            x[i] = 0;
        s += x[i];
    }
    o[0] = s;
#pragma endscop
}

void max_pooling(int h, int w, float A[2 * h][2 * w], float B[h][w])
{
#pragma scop
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            float most = A[2 * y][2 * x];
            for (int dy = 0; dy < 2; dy++)
                for (int dx = 0; dx < 2; dx++)
                    if (A[2 * y + dy][2 * x + dx] > most)
                        most = A[2 * y + dy][2 * x + dx];
            B[y][x] = most;
        }
#pragma endscop
}

void hinge_loss(int n, double margin[n], double o[1], int c[1])
{
#pragma scop
    double loss = 0;
    int wrong = 0;
    for (int i = 0; i < n; i++) {
        double h = 1 - margin[i];
        if (h > 0) {
            loss += h;
            wrong++;
        }
    }
    o[0] = loss;
    c[0] = wrong;
#pragma endscop
}

void embedding_rows(int n, int m, int v, int id[n], double E[64][m], double X[n][m])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            X[i][j] = E[id[i] & 63][j] * v;
#pragma endscop
}

void attention_row_sums(int n, int m, float Q[n][m], float K[n][m], float o[1])
{
#pragma scop
    float all = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            float s = 0;
            for (int k = 0; k < m; k++)
                s += Q[i][k] * K[j][k];
            all += s;
        }
    o[0] = all;
#pragma endscop
}
