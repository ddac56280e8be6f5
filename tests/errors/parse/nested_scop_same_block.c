// expect: 5:9: error: '#pragma scop' inside the SCoP that starts at line 4
void f(int n, double a[n])
{
#pragma scop
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = 0;
#pragma endscop
}
