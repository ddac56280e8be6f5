// expect: 7:14: error: the function `unknown` is not known to be free of side effects
double unknown(double);
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++)
      A[i] = unknown(x);
#pragma endscop
}
