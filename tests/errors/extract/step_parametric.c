// expect: 5:33: error: the step of a loop must be a constant other than 0
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i += m)
      A[i] = 1;
#pragma endscop
}
