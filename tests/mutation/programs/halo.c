void halo(int n, double A[8 * n + 2], double B[8 * n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        double t[10];
        for (int j = 0; j < 10; j++)
            t[j] = A[8 * i + j];
        for (int j = 0; j < 8; j++)
            B[8 * i + j] = 0.3 * t[j] + 0.5 * t[j + 1] + 0.1 * t[j + 2];
    }
#pragma endscop
}
