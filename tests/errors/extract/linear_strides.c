// expect: 6:7: error: the subscript `i * n` of `P` is not affine: the accesses of the array use unrelated strides: m and n
void f(int n, int m, double *P)
{
#pragma scop
    for (int i = 0; i < n; i++) {
      P[i * n] = 1;
      P[i * m] = 2;
    }
#pragma endscop
}
