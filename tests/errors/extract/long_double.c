// expect: 5:13: error: the type `long double` is not supported in a SCoP
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    A[0] = (long double) x;
#pragma endscop
}
