// expect: 6:12: error: `%` needs integers
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    A[0] = x;
    A[1] = x % 2;
#pragma endscop
}
