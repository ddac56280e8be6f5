// expect: 6:13: error: a pointer or a whole array is assigned to
void f(int n, double ***a)
{
#pragma scop
    for (int i = 0; i < n; i++)
            a[i][0] = 0;
#pragma endscop
}
