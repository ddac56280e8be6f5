// expect: 6:18: error: 'k' is declared inside the SCoP and defined elsewhere
void f(int n, int A[n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
      extern int k;
      A[i] = k;
    }
#pragma endscop
}
