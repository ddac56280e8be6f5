void offsets(int n, int m, int off[m], double X[m][n], double Y[2 * n])
{
#pragma scop
    for (int k = 0; k < m; k++)
        for (int i = 0; i < n; i++)
            Y[off[k] + i] = X[k][i];
#pragma endscop
}
