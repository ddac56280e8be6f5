void wave(int steps, int nx, int ny, int sx, int sy, int rx, int ry, double c, double u[3][nx][ny], double v[nx][ny],
          double src[steps], double rec[steps])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++) {
                double lap = u[(t + 1) % 3][i - 1][j] + u[(t + 1) % 3][i + 1][j] + u[(t + 1) % 3][i][j - 1] +
                             u[(t + 1) % 3][i][j + 1] - 4 * u[(t + 1) % 3][i][j];
                u[(t + 2) % 3][i][j] = 2 * u[(t + 1) % 3][i][j] - u[t % 3][i][j] + v[i][j] * c * lap;
            }
        u[(t + 2) % 3][sx][sy] += src[t] * c;
        rec[t] = u[(t + 2) % 3][rx][ry];
    }
#pragma endscop
}
