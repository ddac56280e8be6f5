// expect: 5:5: error: a pointer or a whole array is assigned to
void f(double *P)
{
#pragma scop
    P = P + 1;
    P[0] = 1;
#pragma endscop
}
