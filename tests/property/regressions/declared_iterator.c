/* A loop that data end held a declaration of the iterator of a loop in it, which C++ does not take: `int ;`. */
void f(int n, const int row[n + 1], int C[n + 1], const int B[n + 9])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int p = row[i]; p < row[i + 1]; p++) {
            int v = 0;
            int w = 0;
            do {
                v += B[w];
                w++;
            } while (w < 9 && B[w] >= 2);
            C[i] += v % 9;
        }
#pragma endscop
}
