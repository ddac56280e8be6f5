void reverse(int n, double A[n][8], double B[n][8])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        double t[8];
        for (int j = 0; j < 8; j++)
            t[j] = A[i][j];
        for (int j = 0; j < 8; j++)
            B[i][j] = t[j] + 2 * t[7 - j];
    }
#pragma endscop
}
