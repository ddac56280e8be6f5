// expect: 5:31: error: the iterator `i` may leave the range of unsigned char
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (unsigned char i = 0; i < n; i++)
      A[i] = 1;
#pragma endscop
}
