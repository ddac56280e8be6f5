// expect: 5:25: error: a bound of the loop over `i` depends on data: `n` is assigned inside the SCoP
void f(int n, double A[10])
{
#pragma scop
    for (int i = 0; i < n; i++) {
      A[i] = n;
      n = 3;
    }
#pragma endscop
}
