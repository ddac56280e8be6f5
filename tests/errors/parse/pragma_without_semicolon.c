// expect: 6:2: error: syntax error before 'pragma'
void f(int n, double a[n])
{
#pragma scop
    for (int i = 0; i < n; i++) a[i] = 1
#pragma endscop
}
