// expect: 6:13: error: 'a' cannot be used in a SCoP: it is a pointer to a pointer, so its rows may overlap
void f(int n, double ***a)
{
#pragma scop
    for (int i = 0; i < n; i++)
            a[i][0][0] = 0;
#pragma endscop
}
