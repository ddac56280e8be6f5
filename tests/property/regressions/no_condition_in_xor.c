/* Bitwise operators in a condition are neither comparisons nor affine. */
int f(int n, int m, int *restrict a)
{
    int r = 3;
#pragma scop
    for (int j = 0; j < n; j++) {
        if ((1 ^ (-3)) < r)
            r = 1 ^ (-3);
        if ((n ^ m) > 2 || (n | 1) == 5)
            a[j] = r;
    }
#pragma endscop
    return r;
}
