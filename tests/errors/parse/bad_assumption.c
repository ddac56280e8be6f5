// expect: 4:9: error: the condition of this assumption is not a C expression
void f(int n, double a[n])
{
#pragma polytile assume(n >=)
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = 0;
#pragma endscop
}
