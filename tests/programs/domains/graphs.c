void degrees(int n, int A[n][n], int d[n], int o[1])
{
#pragma scop
    int edges = 0;
    for (int i = 0; i < n; i++) {
        d[i] = 0;
        for (int j = 0; j < n; j++)
            if (A[i][j] > 0)
                d[i]++;
        edges += d[i];
    }
    o[0] = edges;
#pragma endscop
}

void triangles(int n, int A[n][n], int o[1])
{
#pragma scop
    int t = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            for (int k = 0; k < j; k++)
                if (A[i][j] > 0 && A[j][k] > 0 && A[i][k] > 0)
                    t++;
    o[0] = t;
#pragma endscop
}

void page_rank_step(int n, double P[n][n], double r[n], double s[n], double o[1])
{
#pragma scop
    double change = 0;
    for (int i = 0; i < n; i++) {
        double v = 0.15;
        for (int j = 0; j < n; j++)
            v += 0.85 * P[j][i] * r[j];
        double d = v - r[i];
        s[i] = v;
        change += d * d;
    }
    o[0] = change;
#pragma endscop
}

void relax_all(int n, int W[n][n], int d[n], int e[n], int *changed)
{
#pragma scop
    *changed = 0;
    for (int i = 0; i < n; i++) {
        int best = d[i];
        for (int j = 0; j < n; j++) {
            int via = d[j] / 2 + W[j][i] / 2;
            if (via < best)
                best = via;
        }
        e[i] = best;
        if (best != d[i])
            *changed = 1;
    }
#pragma endscop
}

void warshall(int n, int R[n][n])
{
#pragma scop
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                R[i][j] = R[i][j] | (R[i][k] & R[k][j]);
#pragma endscop
}

void common_neighbours(int n, int A[n][n], int C[n][n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            int c = 0;
            for (int k = 0; k < n; k++)
                if (A[i][k] > 0 && A[j][k] > 0)
                    c++;
            C[i][j] = c;
        }
#pragma endscop
}

void edge_endpoints(int m, int from[m], int to[m], int d[64])
{
#pragma scop
    for (int e = 0; e < m; e++) {
        d[from[e] & 63] += 1;
        d[to[e] & 63] += 1;
    }
#pragma endscop
}

void cut_size(int n, int A[n][n], int side[n], int o[1])
{
#pragma scop
    int cut = 0;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            if (A[i][j] > 0 && (side[i] & 1) != (side[j] & 1))
                cut++;
    o[0] = cut;
#pragma endscop
}

void self_loops(int n, int A[n][n], int o[2])
{
#pragma scop
    int loops = 0, any = 0;
    for (int i = 0; i < n; i++)
        if (A[i][i] > 0) {
            loops++;
            any = 1;
        }
    o[0] = loops;
    o[1] = any;
#pragma endscop
}

void sparse_rows(int n, int row[n + 1], int col[8 * n], double v[8 * n], double x[64], double y[n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        double s = 0;
        for (int k = 0; k < 8; k++)
            s += v[8 * i + k] * x[col[8 * i + k] & 63];
        y[i] = s;
    }
#pragma endscop
}

void isolated(int n, int A[n][n], int lone[n], int o[1])
{
#pragma scop
    int count = 0;
    for (int i = 0; i < n; i++) {
        int any = 0;
        for (int j = 0; j < n; j++)
            if (A[i][j] > 0)
                any = 1;
        lone[i] = 1 - any;
        count += 1 - any;
    }
    o[0] = count;
#pragma endscop
}

void distance_counts(int n, int D[n][n], int near, int o[2])
{
#pragma scop
    int c = 0, longest = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            int d = D[i][j];
            if (d < near)
                c++;
            if (d > longest)
                longest = d;
        }
    o[0] = c;
    o[1] = longest;
#pragma endscop
}
