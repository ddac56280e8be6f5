/* The range of blocks has many cases, from halves, steps and triangles at once. */
void f(int n, int m, double B[2 * m + 4][2 * n + m + 2], double C[2 * n + m + 1][n + m + 1][2 * n + 2 * m + 1])
{
#pragma scop
    for (int i = 0; i < m - 1; i++)
        for (int j = i + 1; j < n; j++)
            for (int k = 1; k < (n + m) / 2; k += 2) {
                if (i != 0 || m > 4)
                    C[j][(i + 1) / 2][(k - 1) / 2] += 0.125 * k - 0.25 * C[k - 1 + j][k][2 * (k + 1)];
                else
                    B[3][j + 2 + k] = 0.5 * (0.125 * j + n);
            }
#pragma endscop
}
