// expect: 9:12: error: complex numbers have no such operation here, which is not supported in a SCoP

#include <complex.h>

void f(int n, double _Complex *z)
{
#pragma scop
  for (int i = 0; i < n; i++)
    z[i] = cexp(z[i]);
#pragma endscop
}
