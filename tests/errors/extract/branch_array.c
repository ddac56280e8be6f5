// expect: 7:16: error: the array or struct `t` is declared under a condition that depends on data
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++)
      if (A[i] > x) {
        double t[2];
        t[0] = A[i];
        A[i] = t[0] + 1;
      }
#pragma endscop
}
