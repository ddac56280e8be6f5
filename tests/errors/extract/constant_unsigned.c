// expect: 6:11: error: the subscript `0xffffffffffffffff * i` of `A` is not affine: `0xffffffffffffffff` does not fit in 64 bits
void f(int n, double *A)
{
#pragma scop
    for (int i = 0; i < n; i++)
        A[0xffffffffffffffff * i] = 1;
#pragma endscop
}
