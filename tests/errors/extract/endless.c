// expect: 5:21: error: this loop does not end: `i >= 0` holds for ever
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i >= 0; i++)
      A[0] = i;
#pragma endscop
}
