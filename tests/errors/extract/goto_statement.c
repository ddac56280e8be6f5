// expect: 7:7: error: `goto` is not allowed in a SCoP
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    A[0] = 1;
    if (A[0] > x)
      goto end;
    A[0] = 2;
    end: A[0] = 3;
#pragma endscop
}
