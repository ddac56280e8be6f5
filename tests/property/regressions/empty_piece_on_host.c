/* A filter for pieces of a split statement left nothing of another filter below it: the host's part of the tree then had
   a leaf without a kernel. */
void f(int n, int m, unsigned *r, float (*D)[n + 2 * m + 2][n + m + 1])
{
#pragma scop
    for (int i = m - 1; i >= 1; i--) {
        D[m - i][i - 1 + i][i] += D[i][i][n] + D[(i - 2) / 2 + 1][1][i];
        *r &= (unsigned)i ^ 255;
    }
#pragma endscop
}
