// expect: 8:34: error: 'a' cannot be used in a SCoP: it has the attribute `frobnicate` (unknown_attribute.c:3)
// hint: use a variable of a type without it, or leave the loop as it is
struct s { int x; int y __attribute__((frobnicate)); };
struct t { struct s inside; int z __attribute__((unused, aligned(8))); };
void f(struct t *a)
{
#pragma scop
    for (int i = 0; i < 64; i++) a[i].z = i;
#pragma endscop
}
