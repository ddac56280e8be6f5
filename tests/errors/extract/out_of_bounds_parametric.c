// expect: 6:7: error: the subscript `i` of `A` leaves the array: its extent is n
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i <= n; i++)
      A[i] = 1;
#pragma endscop
}
