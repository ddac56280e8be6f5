// expect: 5:27: error: the unsigned iterator `i` may wrap around below 0
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (unsigned i = 10; i >= 0; i--)
      A[0] = i;
#pragma endscop
}
