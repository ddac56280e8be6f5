// expect: 5:9: error: 'f' cannot have kernels: it has the attribute `optimize("wrapv")` (function_attribute.c:3)
// hint: move the loops to a function without it
__attribute__((noinline, optimize("wrapv"))) void f(int *a)
{
#pragma scop
    for (int i = 0; i < 64; i++) a[i] = a[i] + 1;
#pragma endscop
}
