// expect: 7:9: error: the subscript `i * j + j` of `P` is not affine: it multiplies `i` by `j`
void f(int n, double *P)
{
#pragma scop
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        P[i * j + j] = 1;
#pragma endscop
}
