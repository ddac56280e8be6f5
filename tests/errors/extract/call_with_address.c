// expect: 7:9: error: the call of `set` passes an address
static void set(double *x) { x[1] = 1; }
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++)
        set(&x);
#pragma endscop
}
