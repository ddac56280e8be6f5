/* Only a loop that never runs mentions D and E, of which C says no extent. */
void f(int n, int m, double A[n + 1], double *D, double (*E)[m + 2])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        for (int j = i; j < i; j++)
            A[i] = D[j] + E[i][j];
        A[i] = 0.5 * A[i];
    }
#pragma endscop
}
