// expect: 7:45: error: 'a' cannot be used in a SCoP: its elements lie at multiples of 4 bytes, which is less than
// hint: copy the elements to an array of the type without `aligned`, or make them members of a packed struct
typedef double low __attribute__((aligned(4)));
void f(int n, low a[n][n], double *b)
{
#pragma scop
    for (int i = 0; i < n; i++) b[i] += 2 * a[0][i];
#pragma endscop
}
