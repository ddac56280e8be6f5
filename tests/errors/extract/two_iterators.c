// expect: 5:21: error: this loop cannot be analysed: it does not start by setting one iterator
void f(int n, double a[n])
{
#pragma scop
    for (int i = 0, j = n; i < j; i++, j--)
        a[i] = a[j];
#pragma endscop
}
