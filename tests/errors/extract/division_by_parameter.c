// expect: 6:9: error: the subscript `i / m` of `A` is not affine: the right side of `/` is not a constant
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++)
      A[i / m] = 1;
#pragma endscop
}
