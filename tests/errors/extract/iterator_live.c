// expect: 6:10: error: the iterator `k` may be read after the SCoP
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
    int k;
#pragma scop
    for (k = 0; k < n && k < m; k++)
      A[k] = 2;
#pragma endscop
    A[0] = k;
}
