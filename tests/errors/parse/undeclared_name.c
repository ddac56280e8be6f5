// expect: 6:16: error: 'b' is used but not declared
void f(int n, double a[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = b[i];
#pragma endscop
    double b[4];
}
