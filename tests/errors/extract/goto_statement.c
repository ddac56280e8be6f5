// expect: 8:7: error: `goto` is not allowed in a SCoP
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++)
      A[i] = 1;
    if (A[0] > x)
      goto end;
    double y = A[0];
    end: A[0] = y;
#pragma endscop
}
