// expect: 5:12: error: pointers and functions cannot be declared inside a SCoP
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    double *p = B[m];
    p[0] = 1;
#pragma endscop
}
