// expect: 6:12: error: arithmetic on a whole struct
struct s { double w; };
void f(double *A, struct s *q)
{
#pragma scop
    A[0] = q[0] + 1;
#pragma endscop
}
