void local(int n, double A[n][4], double B[n][4])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        double t[4];
        for (int k = 0; k < 4; k++)
            t[k] = 2.0 * A[i][k];
        for (int k = 0; k < 4; k++)
            B[i][k] = t[k] + t[3 - k];
    }
#pragma endscop
}
