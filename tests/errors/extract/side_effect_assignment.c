// expect: 6:19: error: an assignment inside an expression
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++)
      A[i] = 1 + (x = 2);
#pragma endscop
}
