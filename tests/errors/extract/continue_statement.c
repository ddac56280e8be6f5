// expect: 7:9: error: `continue` is not allowed in a SCoP
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++) {
      if (i > 3)
        continue;
      A[i] = 1;
    }
#pragma endscop
}
