/* The values of a strided host loop that estimates look at have no iteration of their own. */
void f(long n, long m, int B[3][n + m + 2])
{
#pragma scop
    for (int w = 0; w < m; w += 3) {
        for (int j = 0; j < w; j++) {
            B[0][n] = B[2][j];
            B[2][j + 1] = (B[1][j + 1] + B[1][j]) / 2;
        }
    }
#pragma endscop
}
