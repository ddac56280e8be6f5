void rows(int n, double A[n][n], double C[n][n], double sum[n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            sum[j] = 0;
            for (int k = 0; k < n; k++)
                sum[j] += A[i][k] * C[k][j];
        }
        for (int j = 0; j < n; j++)
            A[i][j] = sum[j];
    }
#pragma endscop
}
