void cells(int steps, int n, int m, int A[2][n][m], int alive[steps], int total[1], int most[2])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        alive[t] = 0;
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++) {
                int near;
                near = A[t % 2][i - 1][j] + A[t % 2][i + 1][j] + A[t % 2][i][j - 1] + A[t % 2][i][j + 1];
                A[(t + 1) % 2][i][j] = (3 * near + A[t % 2][i][j] + 7 * i + t) % 11 - 3;
                if (near > 4) alive[t]++;
                total[0] -= 100000000 + near;
                if (near > most[1]) most[1] = near;
            }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                most[0] = most[0] < A[(t + 1) % 2][i][j] ? most[0] : A[(t + 1) % 2][i][j];
    }
#pragma endscop
}
