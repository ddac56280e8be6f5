// expect: 7:9: error: the subscript `t` of `A` is not affine: `t` is computed inside the SCoP
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    int t = 0;
    for (int i = 0; i < n; i++) {
      A[t] = 1;
      t = 2 * t + 2;
    }
#pragma endscop
}
