// expect: 6:16: error: the function 'sqrt' is called but not declared
void f(int n, double a[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = sqrt(a[i]);
#pragma endscop
}
