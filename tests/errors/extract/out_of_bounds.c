// expect: 7:7: error: the subscript `i` of `T` leaves the array: its extent is 10
double T[10];
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i <= 10; i++)
      T[i] = 1;
#pragma endscop
}
