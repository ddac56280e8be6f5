// expect: 6:7: error: this `switch` is not allowed in a SCoP
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++)
      switch (idx[i]) {
        case 0: { double t = A[i]; A[i] = t * t; break; }
        case 1: if (A[i] > x) break; A[i] = 1;
      }
#pragma endscop
}
