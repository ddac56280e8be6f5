// expect: 7:41: error: the call of `scale` may do anything, as it is weak: another file may define it
// hint: say in front of its declaration what it accesses: #pragma polytile access(scale)
__attribute__((weak)) int scale(int x) { return 2 * x; }
void f(int *a)
{
#pragma scop
    for (int i = 0; i < 64; i++) a[i] = scale(i);
#pragma endscop
}
