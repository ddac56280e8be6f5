// expect: 7:5: error: 'z' cannot be used in a SCoP: its type is double _Complex
// hint: use two numbers, the real and the imaginary part: `struct { double re, im; }`
void f(int n, double _Complex *z)
{
#pragma scop
    for (int i = 0; i < n; i++)
    z[i] = 1;
#pragma endscop
}
