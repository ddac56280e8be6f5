// expect: 7:9: error: `++` inside an expression
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    int k = 0;
    for (int i = 0; i < n; i++)
      A[k++] = k;
#pragma endscop
}
