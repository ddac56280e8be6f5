// expect: 6:11: error: the subscript `i % (3037000500 * 3037000500)` of `A` is not affine: the constants of `3037000500 * 3037000500` make a number of more
void f(int n, double *A)
{
#pragma scop
    for (int i = 0; i < n; i++)
        A[i % (3037000500 * 3037000500)] = 1;
#pragma endscop
}
