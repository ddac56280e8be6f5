// expect: 7:29: error: a bound of the loop over `j` depends on data: it reads `idx[i]`
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++)
      if (A[i] > x)
        for (int j = 0; j < idx[i]; j++)
          B[i][j] = 1;
#pragma endscop
}
