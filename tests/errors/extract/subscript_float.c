// expect: 6:9: error: a subscript must be an integer
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++)
      A[x] = 1;
#pragma endscop
}
