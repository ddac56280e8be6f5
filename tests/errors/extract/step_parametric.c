// expect: 5:38: error: the step of a loop must be a constant other than 0
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = n - 1; i >= 0; i -= m)
      A[i] = 1;
#pragma endscop
}
