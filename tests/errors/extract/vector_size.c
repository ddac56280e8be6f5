// expect: 7:34: error: 'a' cannot be used in a SCoP: it has the attribute `vector_size(16)` (vector_size.c:3)
// hint: use a variable of a type without it, or leave the loop as it is
typedef float V __attribute__((vector_size(16)));
void f(V *a, V *b)
{
#pragma scop
    for (int i = 0; i < 64; i++) a[i] = b[i] + b[i];
#pragma endscop
}
