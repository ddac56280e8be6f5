/* No axis reaches the last column of A, B has other extents, and c changes where no axis runs. What D reads of E beyond a
   part is computed there, in the phase that computes what neighbours wait for; no message has it. */
void beyond(int steps, int n, int m, double A[n][m], double *c, double *rec, double D[n][m], double E[n][m])
{
#pragma scop
    double B[40][40];
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                B[i][j] = A[i - 1][j] + *c * A[i + 1][j - 1];
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++) {
                A[i][j] = B[i][j] * 0.5;
                E[i][j] = B[i][j];
            }
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                D[i][j] = 0.5 * D[i][j] + E[i - 1][j] + E[i + 1][j - 1];
        for (int i = 1; i < n - 1; i++)
            rec[i] += A[i][3];
        *c = *c * 0.75;
    }
#pragma endscop
}
