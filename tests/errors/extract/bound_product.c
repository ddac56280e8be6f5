// expect: 6:27: error: a bound of the loop over `j` is not affine: it multiplies `i` by `n`
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++)
      for (int j = 0; j < i * n; j++)
        A[0] += j;
#pragma endscop
}
