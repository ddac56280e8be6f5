// expect: 6:34: error: 'z' cannot be used in a SCoP: its type is _Complex int
// hint: use C's integer types, float, double, or a struct of these
void f(_Complex int *z)
{
#pragma scop
    for (int i = 0; i < 64; i++) z[i] = i;
#pragma endscop
}
