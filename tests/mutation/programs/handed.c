/* Threads of a block read what others have written to an array that the caller sees. */
void handed(int n, double A[n][16], double B[n][16], double w[n][16])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 16; k++)
            w[i][k] = A[i][k] * k;
        for (int k = 0; k < 16; k++)
            B[i][k] = w[i][15 - k];
    }
#pragma endscop
}
