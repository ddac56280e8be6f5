"""Stencils over one and two dimensions of space that are drawn."""

ONE = """
void f(int T, int N, double A[N], double B[N])
{
#pragma scop
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < N - 1; i++)
            B[i] = A[i - 1] + A[i] + A[i + 1];
        for (int i = 1; i < N - 1; i++)
            A[i] = B[i - 1] + B[i] + B[i + 1];
    }
#pragma endscop
}
"""
TWO = """
void f(int T, int N, double A[2][N][N])
{
#pragma scop
    for (int t = 0; t < T; t++)
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                A[(t + 1) % 2][i][j] = A[t % 2][i - 1][j] + A[t % 2][i + 1][j] + A[t % 2][i][j + 1];
#pragma endscop
}
"""
