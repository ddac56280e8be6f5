// expect: 5:12: error: 's' is declared inside the SCoP and used after it, at line 9
double f(int n, double a[n])
{
#pragma scop
    double s = 0;
    for (int i = 0; i < n; i++)
        s += a[i];
#pragma endscop
    return s;
}
