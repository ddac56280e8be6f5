// expect: 5:5: error: this loop cannot be analysed: it has no condition
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0;; i++)
      A[i] = 1;
#pragma endscop
}
