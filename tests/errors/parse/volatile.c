// expect: 6:16: error: 'x' cannot be used in a SCoP: it is volatile or atomic
void f(int n, double a[n], volatile double x)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = x;
#pragma endscop
}
