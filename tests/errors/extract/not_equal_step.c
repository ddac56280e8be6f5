// expect: 5:21: error: `i != n` may never become false
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i != n; i += 2)
      A[i] = 1;
#pragma endscop
}
