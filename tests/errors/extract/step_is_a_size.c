// expect: 8:15: error: the subscript `1 + (m + 1) * i` of `A` is not affine: it multiplies `m + 1` by `i`
// hint: write each subscript as a sum of iterators and sizes with constant factors
void f(int n, int m, double A[n][m], const double x[n])
{
#pragma scop
    for (int i = 1; i < n; i += m + 1)
        for (int j = 0; j < n; j++)
            A[i][j] = x[j];
#pragma endscop
}
