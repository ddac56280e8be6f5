// expect: 8:27: error: a bound of the loop over `j` depends on data: `k` is computed inside the SCoP
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    int k = 0;
    for (int i = 0; i < n; i++) {
      k = 2 * k + 1;
      for (int j = 0; j < k; j++)
        B[i][j] = 1;
    }
#pragma endscop
}
