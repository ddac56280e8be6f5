// expect: 7:9: error: the size of 'a' depends on 'm', which changes after that declaration
void f(int n, int m, double a[n][m])
{
    m = m - 1;
#pragma scop
    for (int i = 0; i < n; i++)
        a[i][0] = 0;
#pragma endscop
}
