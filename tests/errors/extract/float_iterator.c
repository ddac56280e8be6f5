// expect: 5:17: error: the iterator `t` is not an integer
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (double t = 0; t < n; t += 1)
      A[0] = t;
#pragma endscop
}
