// expect: 5:27: error: syntax error before 'i'
void f(int n, double a[n])
{
#pragma scop
    for (int i = 0; i < n i++)
        a[i] = 0;
#pragma endscop
}
