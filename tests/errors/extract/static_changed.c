// expect: 6:18: error: the static variable 'k' of the SCoP's own block keeps its value from one iteration to the next
void f(int n, int A[n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
      static int k = 3;
      k += i;
      A[i] = k;
    }
#pragma endscop
}
