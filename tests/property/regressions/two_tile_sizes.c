/* Three parallel loops, of which only two are given tile sizes. */
void f(int n, int m, double A[n][m][n], double B[n][m])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            for (int k = 0; k < n; k++)
                A[i][j][k] += B[k][j];
#pragma endscop
}
