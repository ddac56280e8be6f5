// expect: 2:15: error: the size of `H` overflows
extern double H[3000000][3000000][3000000];
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < 5; i++)
      H[i][0][0] = 1;
#pragma endscop
}
