// expect: 6:25: error: the function `size` is not known to be free of side effects
int size(int);
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < size(n); i++)
      A[i] = 1;
#pragma endscop
}
