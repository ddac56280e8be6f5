/* A[c] is A[i][j] with rows of n elements where n >= m, which the host asks; then the second loop never runs, and its
   kernel had no instance. */
void f(int n, int m, int A[n + m + n * m])
{
#pragma scop
    int c = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            A[c] = A[i];
            c++;
        }
    for (int i = n; i < m; i++)
        A[i] = 1;
#pragma endscop
}
