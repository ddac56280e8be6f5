/* Expanding C over t would need a copy of its last values from many small regions. */
void f(int n, int m, double A[1][m + 1], double B[m + 1][m + 1], double C[2 * m + 1][n + m + 3][m + 1])
{
#pragma scop
    for (int t = 0; t < 4; t++)
        for (int i = 0; i < m; i++) {
            C[2 * i][i % 3][i / 2] = A[0][i] - 0.25 * B[i][i];
            C[i][n - i + m][i] = 1.5 + t;
        }
#pragma endscop
}
