// expect: 8:16: error: 'q' cannot be used in a SCoP: its type is __typeof__(half())
_Float16 half(void);
void f(int n, double a[n])
{
    __typeof__(half()) q = half();
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = q;
#pragma endscop
}
