/* In kernels whose iterators are long, as n is, the value was a long for the function that combines the lanes of an
   atomic update of an int: nothing that compilers find an instance for. */
void f(long n, int h[n + 1], int idx[n + 1])
{
#pragma scop
    for (int q = 1; q < n; q++)
        if (q % 3 < 2)
            h[idx[q - 1]] &= (q - 1) % 8 % 7;
    for (int q = 1; q < n; q++)
        h[idx[q]] += q % 5;
#pragma endscop
}
