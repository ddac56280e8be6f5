/* isl's scheduler gives up: it is unable to carry dependences, whatever its budget. */
double f(int n, int m, double alpha, float (*A)[3 * n + 1])
{
#pragma scop
    for (int q = n; q > 0; q--) {
        A[q][0 - q + n] = A[3 * q][3 * (q - 1)];
    }
#pragma endscop
    return alpha;
}
