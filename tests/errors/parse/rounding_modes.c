// expect: 3:1: error: kernels round to nearest, and `#pragma STDC FENV_ACCESS ON` lets the program choose
#include <fenv.h>
#pragma STDC FENV_ACCESS ON
void f(int n, double a[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] /= 3;
#pragma endscop
}
