// expect: 5:12: error: `t` has a list of initial values
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    double t[2] = {[1] = 2};
    A[0] = t[1];
#pragma endscop
}
