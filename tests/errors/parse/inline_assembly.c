// expect: 6:9: error: inline assembly may do anything
void f(int n, double a[n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        __asm__("nop");
        a[i] = 0;
    }
#pragma endscop
}
