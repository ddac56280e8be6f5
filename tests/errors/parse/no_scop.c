// expect: 1: error: no SCoP in this file
void f(int n, double a[n])
{
    for (int i = 0; i < n; i++)
        a[i] = 0;
}
