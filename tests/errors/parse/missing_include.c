// expect: 2:10: error: cannot find include file 'sizes.h'
#include "sizes.h"

void f(int n, double a[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = 0;
#pragma endscop
}
