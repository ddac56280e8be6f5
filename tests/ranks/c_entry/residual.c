void residual(int steps, int n, int m, double A[n][m], double B[n][m], double e[steps], double range[2])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        double s = 0;
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++) {
                double d;
                B[i][j] = 0.25 * (A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1]);
                d = B[i][j] - A[i][j];
                s += d * d;
                range[0] = range[0] < d ? range[0] : d;
                if (d > range[1]) range[1] = d;
            }
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++) A[i][j] = B[i][j] / (1 + s);
        e[t] = s;
    }
#pragma endscop
}
