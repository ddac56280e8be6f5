// expect: 9:7: error: the subscripts of `q[i].v[d]` are not known to lie inside its field
// hint: let loops run to the field's size, or say how large a bound is: `__builtin_assume(n <= 3)`
struct s { double v[3]; double w; };
void f(int n, int m, struct s *q)
{
#pragma scop
    for (int i = 0; i < n; i++)
     for (int d = 0; d < 5; d++)
      q[i].v[d] = 1;
#pragma endscop
}
