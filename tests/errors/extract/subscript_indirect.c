// expect: 6:9: error: the subscript `idx[i]` of `A` is not affine: it reads `idx[i]`
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++)
      A[idx[i]] = 1;
#pragma endscop
}
