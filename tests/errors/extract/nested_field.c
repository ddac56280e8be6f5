// expect: 7:14: error: the field `v` is not a scalar
struct s { double v[3]; double w; };
void f(int n, struct s *q)
{
#pragma scop
    for (int i = 0; i < n; i++)
      q[i].v[0] = 1;
#pragma endscop
}
