// expect: 7:7: error: the iterator `i` is modified inside its loop
void f(int n, int m, double A[n], double B[n][m], int idx[n], double x)
{
#pragma scop
    for (int i = 0; i < n; i++) {
      A[i] = 1;
      i = i + 1;
    }
#pragma endscop
}
