// expect: 5:28: error: this loop cannot be analysed: its step is not `i += constant`
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 1; i < n; i *= 2)
      A[i] = 1;
#pragma endscop
}
