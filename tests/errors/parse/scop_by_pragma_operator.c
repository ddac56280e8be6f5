// expect: 5:5: error: '#pragma scop' is not on a line of its own
#define START _Pragma("scop")
void f(int n, double a[n])
{
    START
    for (int i = 0; i < n; i++)
        a[i] = 0;
#pragma endscop
}
