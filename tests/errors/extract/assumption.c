// expect: 5:9: error: the assumption is not affine: it multiplies `n` by `n`
void f(int n, double *A)
{
#pragma scop
#pragma polytile assume(n * n > 4)
    A[0] = 1;
#pragma endscop
}
