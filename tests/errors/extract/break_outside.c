// expect: 6:7: error: `break` is not allowed in a SCoP
void f(int n, double A[n])
{
    while (A[0] > 1) {
#pragma scop
      break;
#pragma endscop
    }
}
