/* With 64-bit indices the first block's coordinate is -1, which blockIdx, an unsigned 32-bit number, cannot make. */
void f(long n, double B[n + 4], double A[n + 4][n + 4])
{
#pragma scop
    for (int j = -1; j < n; j += 3)
        B[j + 1] = 0.5 * B[j + 1];
    for (long i = -2; i <= n; i++)
        for (long j = -1; j < n; j++)
            A[i + 2][j + 1] += i;
#pragma endscop
}
