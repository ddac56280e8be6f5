// expect: 7:9: error: the subscript `i * n + j` of `P` is not affine: `j` is not provably in [0, n)
void f(int n, int m, double *P)
{
#pragma scop
    for (int i = 0; i < n; i++)
      for (int j = 0; j <= n; j++)
        P[i * n + j] = 1;
#pragma endscop
}
