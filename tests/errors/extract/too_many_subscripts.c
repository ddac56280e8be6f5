// expect: 6:14: error: `A` has 1 dimension, but 2 subscripts here
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++)
      A[i] = A[i][0];
#pragma endscop
}
