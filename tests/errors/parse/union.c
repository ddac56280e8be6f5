// expect: 7:9: error: 'a' cannot be used in a SCoP: it is a union
union word { int i; float f; };
void f(int n, union word a[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i].i = 0;
#pragma endscop
}
