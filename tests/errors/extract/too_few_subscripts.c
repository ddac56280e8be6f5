// expect: 6:14: error: `B` has 2 dimensions, but 1 subscript here
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++)
      A[i] = B[i] > 0;
#pragma endscop
}
