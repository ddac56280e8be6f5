// expect: 6:11: error: the subscript `i * 4000000000000000000 * 3` of `A` is not affine: the constants of `i * 4000000000000000000 * 3` make a number of more than 64 bits
void f(int n, double *A)
{
#pragma scop
    for (int i = 0; i < n; i++)
        A[i * 4000000000000000000 * 3] = 1;
#pragma endscop
}
