// expect: 6:20: error: the subscript `idx[i]` of `A` is not affine: it reads data, and how large the array is is not known
void f(int n, double *A, int idx[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
      idx[i] += 1, A[idx[i]] = 1;
#pragma endscop
}
