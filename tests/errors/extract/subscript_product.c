// expect: 7:11: error: the subscript `i * j` of `B` is not affine: it multiplies `i` by `j`
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++)
      for (int j = 0; j < m; j++)
        B[i * j][0] = 1;
#pragma endscop
}
