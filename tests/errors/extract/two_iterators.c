// expect: 5:21: error: this loop cannot be analysed: it does not start by setting one iterator
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0, j = 0; i < n; i++)
      A[i] = j;
#pragma endscop
}
