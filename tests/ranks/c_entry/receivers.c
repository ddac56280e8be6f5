/* Two receivers at different places, a line of the plane, and a scalar that follows one element. */
void receivers(int steps, int n, int m, int rx, int ry, double A[2][n][m], double *seen, double *line, double *last)
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                A[(t + 1) % 2][i][j] = 0.25 * (A[t % 2][i - 1][j] + A[t % 2][i + 1][j] + A[t % 2][i][j - 1] + A[t % 2][i][j + 1]);
        seen[2 * t] = A[(t + 1) % 2][rx][ry];
        seen[2 * t + 1] = A[(t + 1) % 2][3][4];
        for (int i = 0; i < n; i++)
            line[i] += A[(t + 1) % 2][i][ry];
        *last = A[(t + 1) % 2][rx][3];
    }
#pragma endscop
}
