// expect: 5: error: this '#if' and the directives it belongs to are not all inside the SCoP
void f(int n, double a[n])
{
#pragma scop
#ifndef TWICE
    for (int i = 0; i < n; i++)
        a[i] = 0;
#pragma endscop
#endif
}
