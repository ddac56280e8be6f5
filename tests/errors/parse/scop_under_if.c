// expect: 5:9: error: '#pragma scop' without '#pragma endscop' after it in the same block
void f(int n, double a[n])
{
    if (n > 0)
#pragma scop
        for (int i = 0; i < n; i++)
            a[i] = 0;
#pragma endscop
}
