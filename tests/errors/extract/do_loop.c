// expect: 5:5: error: a `do` loop is not allowed in a SCoP
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    do
      A[0] = 1;
    while (A[0] > 0);
#pragma endscop
}
