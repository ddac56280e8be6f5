// expect: 4:9: error: the SCoP is empty
void f(int n, double a[n])
{
#pragma scop
#pragma endscop
}
