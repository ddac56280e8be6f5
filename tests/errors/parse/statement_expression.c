// expect: 7:16: error: a statement expression `({ ... })` is not C99
#define SQUARE(x) ({ double y_ = (x); y_ * y_; })
void f(int n, double a[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = SQUARE(a[i]);
#pragma endscop
}
