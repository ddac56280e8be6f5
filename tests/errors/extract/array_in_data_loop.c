// expect: 7:16: error: the array or struct `t` is declared under a condition that depends on data
void f(int n, double A[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
      while (A[i] > 1) {
        double t[4];
        t[0] = A[i];
        A[i] = t[0] / 2;
      }
#pragma endscop
}
