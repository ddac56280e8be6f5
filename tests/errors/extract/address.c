// expect: 6:17: error: a SCoP cannot take an address
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++)
      A[i] = *(&x);
#pragma endscop
}
