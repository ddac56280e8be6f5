void stencil(int T, int n, double A[n], double B[n])
{
#pragma scop
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < n - 1; i++)
            B[i] = 0.3 * A[i - 1] + 0.4 * A[i] + 0.2 * A[i + 1];
        for (int i = 1; i < n - 1; i++)
            A[i] = 0.3 * B[i - 1] + 0.4 * B[i] + 0.2 * B[i + 1];
    }
#pragma endscop
}
