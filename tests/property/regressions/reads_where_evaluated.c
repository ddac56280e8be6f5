/* A read under `?:` reaches less than its subscripts say, or nothing; tiles did not find it in the body. */
void f(int n, int m, float alpha, float B[restrict n + m + 2][n + m + 2], float C[restrict n + 1][m + 1])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            for (int k = 0; k < n; k++)
                C[i][j] += (i > 2 ? B[i + 1][j] : alpha) * B[k][k] + (k < 0 ? B[i][k] : alpha);
#pragma endscop
}
