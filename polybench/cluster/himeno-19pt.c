/*
 * himeno-19pt: a relaxed Jacobi step of the pressure equation of Himeno's benchmark, without its
 * residual, with coefficients that depend on the position: from one plane of p to the other, in
 * each of the tsteps steps; the border stays.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(3, 8, 24, 100, 100)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(10, 34, 130, 258, 514)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(11, 38, 138, 258, 514)
#endif
#ifndef NZ
#define NZ POLYBENCH_SIZE(12, 42, 146, 258, 514)
#endif

static void kernel_himeno_19pt(int tsteps, int nx, int ny, int nz, DATA_TYPE omega,
                               DATA_TYPE p[2][nx][ny][nz], DATA_TYPE a0[nx][ny][nz],
                               DATA_TYPE a1[nx][ny][nz], DATA_TYPE a2[nx][ny][nz],
                               DATA_TYPE a3[nx][ny][nz], DATA_TYPE b0[nx][ny][nz],
                               DATA_TYPE b1[nx][ny][nz], DATA_TYPE b2[nx][ny][nz],
                               DATA_TYPE c0[nx][ny][nz], DATA_TYPE c1[nx][ny][nz],
                               DATA_TYPE c2[nx][ny][nz], DATA_TYPE wrk1[nx][ny][nz],
                               DATA_TYPE bnd[nx][ny][nz])
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

int main(void)
{
    /* The scales bound |a3| * (|a0| + ... + |c2| + 4 * (|b0| + |b1| + |b2|)) by 1. */
    static const char *const names[12] = {"a0", "a1", "a2", "a3", "b0",   "b1",
                                          "b2", "c0", "c1", "c2", "wrk1", "bnd"};
    static const double scales[12] = {0.5,  0.5, 0.5, 0.0667, 0.05, 0.05,
                                      0.05, 0.5, 0.5, 0.5,    0.5,  0.5};
    int tsteps = TSTEPS;
    int nx = NX;
    int ny = NY;
    int nz = NZ;
    DATA_TYPE omega = SCALAR_VAL(0.8);
    DATA_TYPE(*p)[POLYBENCH_EXTENT(nx)][POLYBENCH_EXTENT(ny)][POLYBENCH_EXTENT(nz)] =
        polybench_alloc_data(2, sizeof *p);
    DATA_TYPE(*coef[12])[POLYBENCH_EXTENT(ny)][POLYBENCH_EXTENT(nz)];

    stencil_init_planes(p, 1, nx, ny, nz);
    polybench_input("omega", &omega, 1);
    polybench_input("p", p, 2 * (size_t) nx * ny * nz);
    for (int c = 0; c < 12; c++) {
        coef[c] = polybench_alloc_data(POLYBENCH_EXTENT(nx), sizeof *coef[c]);
        stencil_init(coef[c], c + 2, scales[c], nx, ny, nz);
        polybench_input(names[c], coef[c], (size_t) nx * ny * nz);
    }

    polybench_start_instruments;
    kernel_himeno_19pt(tsteps, nx, ny, nz, omega, p, coef[0], coef[1], coef[2], coef[3], coef[4],
                       coef[5], coef[6], coef[7], coef[8], coef[9], coef[10], coef[11]);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("p", p, 2 * (size_t) nx * ny * nz);
    free(p);
    for (int c = 0; c < 12; c++)
        free(coef[c]);
    return 0;
}
