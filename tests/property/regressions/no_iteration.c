/* At n <= 1 nothing runs, though the inner loops have constant bounds. */
void f(int n, double A[n + 4][n + 4], double x[n + 9])
{
#pragma scop
    for (int i = 0; i < n - 1; i++) {
        double w[5];
        for (int k = 0; k < 5; k++)
            w[k] = x[2 * k];
        for (int j = n + 2; j >= i; j -= 3)
            A[0][i / 2] = 0.5 * (w[0] + j);
        for (int k = 0; k < 5; k++)
            x[k] += A[0][i / 2];
    }
#pragma endscop
}
