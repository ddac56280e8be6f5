// expect: 8:45: error: 'y' cannot be used in a SCoP: it has the attribute `alias("x")` (alias.c:4)
// hint: use a variable of a type without it, or leave the loop as it is
int x[100] = {1};
extern int y[100] __attribute__((alias("x")));
void f(void)
{
#pragma scop
    for (int i = 0; i < 99; i++) x[i + 1] = y[i] + 1;
#pragma endscop
}
