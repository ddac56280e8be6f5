// expect: 5:16: error: a string cannot be used in a SCoP
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    A[0] = x * "a";
#pragma endscop
}
