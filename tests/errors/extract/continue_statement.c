// expect: 9:11: error: `continue` is not allowed in a SCoP
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++) {
      {
        double t = A[i];
        if (t > 3)
          continue;
      }
      A[i] = 1;
    }
#pragma endscop
}
