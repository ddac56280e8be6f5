void poles(int n, int m, double A[n][m], double s[2])
{
#pragma scop
    s[0] = 2;
    for (int i = 0; i < n; i++)
        for (int j = 1; j < m; j++) {
            s[0] += 1 / A[i][j];
            s[1] += A[i][j] - A[i][j - 1];
        }
#pragma endscop
}
