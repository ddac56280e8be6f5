// expect: 6:14: error: the size of `t` depends on an iterator
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++) {
      double t[i + 1];
      t[0] = 1;
      A[i] = t[0];
    }
#pragma endscop
}
