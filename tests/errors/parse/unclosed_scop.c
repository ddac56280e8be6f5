// expect: 4:9: error: '#pragma scop' without '#pragma endscop' after it in the same block
void f(int n, double a[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = 0;
}
