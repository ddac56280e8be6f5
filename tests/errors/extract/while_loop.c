// expect: 5:5: error: a `while` loop is not allowed in a SCoP
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    while (n > 0)
      A[0] = 1;
#pragma endscop
}
