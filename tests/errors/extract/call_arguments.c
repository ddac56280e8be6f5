// expect: 6:12: error: `sqrt` takes 1 argument, but 2 are given
double sqrt(double);
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    A[0] = sqrt(x, x);
#pragma endscop
}
