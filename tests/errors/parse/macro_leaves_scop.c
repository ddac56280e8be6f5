// expect: 5: error: the macro 'LAST' changes inside the SCoP and is used after it
double f(int n, double a[n])
{
#pragma scop
#define LAST (n - 1)
    for (int i = 0; i < LAST; i++)
        a[i] = 0;
#pragma endscop
    return a[LAST];
}
