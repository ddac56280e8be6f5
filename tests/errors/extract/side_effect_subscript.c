// expect: 8:9: error: `++` inside an expression
// hint: write `k++;` as a statement of its own, before or after this one
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    int k = 0;
    for (int i = 0; i < n; i++)
      A[k++] = k;
#pragma endscop
}
