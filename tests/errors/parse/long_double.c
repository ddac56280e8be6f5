// expect: 6:9: error: 'a' cannot be used in a SCoP: its type is long double
void f(int n, long double a[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = 0;
#pragma endscop
}
