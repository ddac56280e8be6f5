// expect: 2:12: error: `mod` cannot be the name of a size or bound
void f(int mod, double *A)
{
#pragma scop
    for (int i = 0; i < mod; i++)
      A[i] = 1;
#pragma endscop
}
