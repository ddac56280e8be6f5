// expect: 7:9: error: '#pragma endscop' without '#pragma scop' before it in the same block
void f(int n, double a[n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        a[i] = 0;
#pragma endscop
    }
}
