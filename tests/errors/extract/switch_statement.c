// expect: 5:5: error: a `switch` is not allowed in a SCoP
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    switch (n) { case 0: A[0] = 1; }
#pragma endscop
}
