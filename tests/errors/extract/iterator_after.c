// expect: 10:12: error: the iterator `k` is used outside its loop
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++)
      A[i] = 1;
    int k;
    for (k = 0; k < n && k < m; k++)
      A[k] = 2;
    A[0] = k;
#pragma endscop
}
