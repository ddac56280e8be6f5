// expect: 8:11: error: `return` is not allowed in a SCoP
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++)
      while (A[i] > 0) {
        if (A[i] == x)
          return;
        A[i] -= 1;
      }
#pragma endscop
}
