void edit_distance(int n, int m, int a[n], int b[m], int D[n + 1][m + 1])
{
#pragma scop
    for (int i = 0; i <= n; i++)
        D[i][0] = i;
    for (int j = 0; j <= m; j++)
        D[0][j] = j;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            int best = D[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (D[i - 1][j] + 1 < best) best = D[i - 1][j] + 1;
            if (D[i][j - 1] + 1 < best) best = D[i][j - 1] + 1;
            D[i][j] = best;
        }
#pragma endscop
}

void smith_waterman_best(int n, int m, int H[n][m], int o[1])
{
#pragma scop
    int best = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            if (H[i][j] > best)
                best = H[i][j];
    o[0] = best;
#pragma endscop
}

void knapsack_row(int n, int w, int value, int old[n], int new[n])
{
#pragma scop
    for (int c = 0; c < n; c++) {
        int best = old[c];
        if (c >= 3 && old[c - 3] / 2 + value / 2 > best)
            best = old[c - 3] / 2 + value / 2;
        new[c] = best + w;
    }
#pragma endscop
}

void viterbi_step(int n, double T[n][n], double p[n], double e[n], double q[n])
{
#pragma scop
    for (int j = 0; j < n; j++) {
        double best = -1e9;
        for (int i = 0; i < n; i++) {
            double v = p[i] + T[i][j];
            if (v > best)
                best = v;
        }
        q[j] = best + e[j];
    }
#pragma endscop
}

void forward_step(int n, double T[n][n], double a[n], double b[n], double c[n], double o[1])
{
#pragma scop
    double all = 0;
    for (int j = 0; j < n; j++) {
        double s = 0;
        for (int i = 0; i < n; i++)
            s += a[i] * T[i][j];
        c[j] = s * b[j];
        all += c[j];
    }
    o[0] = all;
#pragma endscop
}

void minimum_path(int n, int m, int C[n][m], int D[n][m + 2])
{
#pragma scop
    for (int i = 1; i < n; i++)
        for (int j = 1; j <= m; j++) {
            int best = D[i - 1][j - 1];
            if (D[i - 1][j] < best) best = D[i - 1][j];
            if (D[i - 1][j + 1] < best) best = D[i - 1][j + 1];
            D[i][j] = best / 2 + C[i][j - 1] / 2;
        }
#pragma endscop
}

void floyd(int n, int D[n][n])
{
#pragma scop
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                if (D[i][k] / 2 + D[k][j] / 2 < D[i][j])
                    D[i][j] = D[i][k] / 2 + D[k][j] / 2;
#pragma endscop
}

void last_row_statistics(int n, int m, int D[n][m], int o[2])
{
#pragma scop
    int least = 1 << 20, reached = 0;
    for (int j = 0; j < m; j++) {
        int v = D[n - 1][j];
        least = v < least ? v : least;
        if (v < 1000)
            reached++;
    }
    o[0] = least;
    o[1] = reached;
#pragma endscop
}

void time_warping_costs(int n, int m, double x[n], double y[m], double C[n][m], double o[1])
{
#pragma scop
    double most = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            double d = x[i] - y[j];
            C[i][j] = d * d;
            most = d * d > most ? d * d : most;
        }
    o[0] = most;
#pragma endscop
}

void bellman_sweep(int n, int m, double R[n][m], double v[n], double w[n], double g, double o[1])
{
#pragma scop
    double change = 0;
    for (int s = 0; s < n; s++) {
        double best = -1e9;
        for (int a = 0; a < m; a++) {
            double q = R[s][a] + g * v[s];
            best = q > best ? q : best;
        }
        w[s] = best;
        double d = best - v[s];
        change += d * d;
    }
    o[0] = change;
#pragma endscop
}

void matching_pairs(int n, int a[n], int b[n], int M[n][n], int o[1])
{
#pragma scop
    int count = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            M[i][j] = a[i] == b[j];
            if (a[i] == b[j])
                count++;
        }
    o[0] = count;
#pragma endscop
}

void window_costs(int n, int x[n + 4], int c[n], int o[1])
{
#pragma scop
    int least = 1 << 20;
    for (int i = 0; i < n; i++) {
        int s = 0;
        for (int k = 0; k < 4; k++)
            s += x[i + k] & 255;
        c[i] = s;
        if (s < least)
            least = s;
    }
    o[0] = least;
#pragma endscop
}
