// expect: 6:9: error: the function '__asm__' is called but not declared
void f(int n, double a[n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        __asm__("nop");
        a[i] = 0;
    }
#pragma endscop
}
