// expect: 4:9: error: unknown pragma '#pragma polytile unroll(4)'
void f(int n, double a[n])
{
#pragma polytile unroll(4)
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = 0;
#pragma endscop
}
