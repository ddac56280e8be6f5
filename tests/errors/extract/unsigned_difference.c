// expect: 5:25: error: a bound of the loop over `i` is not affine: `s - 1` is unsigned and may wrap around below 0
void f(unsigned s, double A[100])
{
#pragma scop
    for (int i = 0; i < s - 1; i++)
      A[i] = 1;
#pragma endscop
}
