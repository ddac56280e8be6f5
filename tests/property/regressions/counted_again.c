/* Iterations side by side of a loop that data end shared its counter, which began with what the first one left. */
void f(int n, const double A[4][8], int row[n + 8], int *total, double *r)
{
#pragma scop
    for (int j = 0; j < n; j++)
        row[j] = j % 7;
    for (int i = 0; i < 4; i++) {
        int w = 0;
        do {
            if (i <= 2)
                *total -= row[w] % 16;
            else
                *r += 0.5 * w;
            w++;
        } while (w < 5 && A[i][w] > 0.5);
    }
#pragma endscop
}
