// expect: 4:9: error: the SCoP contains no statement
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++)
      ;
#pragma endscop
}
