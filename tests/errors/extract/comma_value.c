// expect: 5:13: error: a comma expression cannot be part of an expression in a SCoP
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    A[0] = (x, 1);
#pragma endscop
}
