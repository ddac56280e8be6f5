// expect: 7:7: error: the call of `consume` may do anything
void consume(double);
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++)
      consume(x);
#pragma endscop
}
