/* A sum over two loops, the inner of which is made in tiles. */
void tiled(int n, int m, long C[n][n], long x[m][n], long y[m][n])
{
#pragma scop
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++)
            for (int i = 0; i < m; i++)
                for (int j = 0; j < m; j++)
                    C[a][b] += x[j][b] * (y[i][b] - a);
#pragma endscop
}
