void himeno(int tsteps, int nx, int ny, int nz, float omega, float p[2][nx][ny][nz], float a0[nx][ny][nz],
            float a1[nx][ny][nz], float a2[nx][ny][nz], float a3[nx][ny][nz], float b0[nx][ny][nz],
            float b1[nx][ny][nz], float b2[nx][ny][nz], float c0[nx][ny][nz], float c1[nx][ny][nz],
            float c2[nx][ny][nz], float wrk1[nx][ny][nz], float bnd[nx][ny][nz])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
                for (int k = 1; k < nz - 1; k++)
                    p[(t + 1) % 2][i][j][k] =
                        p[t % 2][i][j][k] +
                        omega *
                            ((wrk1[i][j][k] + a0[i][j][k] * p[t % 2][i][j][k + 1] +
                              a1[i][j][k] * p[t % 2][i][j + 1][k] +
                              a2[i][j][k] * p[t % 2][i + 1][j][k] +
                              b0[i][j][k] *
                                  (p[t % 2][i][j + 1][k + 1] - p[t % 2][i][j - 1][k + 1] -
                                   p[t % 2][i][j + 1][k - 1] + p[t % 2][i][j - 1][k - 1]) +
                              b1[i][j][k] *
                                  (p[t % 2][i + 1][j + 1][k] - p[t % 2][i - 1][j + 1][k] -
                                   p[t % 2][i + 1][j - 1][k] + p[t % 2][i - 1][j - 1][k]) +
                              b2[i][j][k] *
                                  (p[t % 2][i + 1][j][k + 1] - p[t % 2][i - 1][j][k + 1] -
                                   p[t % 2][i + 1][j][k - 1] + p[t % 2][i - 1][j][k - 1]) +
                              c0[i][j][k] * p[t % 2][i][j][k - 1] +
                              c1[i][j][k] * p[t % 2][i][j - 1][k] +
                              c2[i][j][k] * p[t % 2][i - 1][j][k]) *
                                 a3[i][j][k] -
                             p[t % 2][i][j][k]) *
                            bnd[i][j][k];
#pragma endscop
}
