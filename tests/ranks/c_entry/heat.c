void heat(int steps, int n, int m, int l, double A[2][n][m][l])
{
#pragma scop
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                for (int k = 1; k < l - 1; k++)
                    A[(t + 1) % 2][i][j][k] =
                        0.125 * (A[t % 2][i + 1][j][k] - 2 * A[t % 2][i][j][k] + A[t % 2][i - 1][j][k]) +
                        0.125 * (A[t % 2][i][j + 1][k] - 2 * A[t % 2][i][j][k] + A[t % 2][i][j - 1][k]) +
                        0.125 * (A[t % 2][i][j][k + 1] - 2 * A[t % 2][i][j][k] + A[t % 2][i][j][k - 1]) +
                        A[t % 2][i][j][k];
#pragma endscop
}
