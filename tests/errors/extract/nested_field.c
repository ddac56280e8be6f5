// expect: 8:7: error: `v` is not a scalar field of `q`
// hint: a SCoP may use the numbers in a struct, and in arrays and structs inside it: give every subscript
struct s { double v[3]; double w; };
void f(int n, struct s *q)
{
#pragma scop
    for (int i = 0; i < n; i++)
      q[i].v = 1;
#pragma endscop
}
