/*
 * denoise: tsteps steps that remove Rician noise from the image f of nx x ny x nz elements. A step
 * has two stages: g is the reciprocal length of the differences of u to its six neighbours, and
 * u is smoothed with the weights g and drawn to f. The border of u stays and that of g is 0.
 */
#include "../stencil-io.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(3, 4, 4, 4, 4)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(8, 20, 100, 512, 640)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(9, 24, 110, 512, 640)
#endif
#ifndef NZ
#define NZ POLYBENCH_SIZE(10, 28, 120, 512, 640)
#endif

#define EPSILON SCALAR_VAL(1.0e-20)
#define SIGMA2 SCALAR_VAL(0.0025)
#define GAMMA SCALAR_VAL(26.0)
#define DT SCALAR_VAL(5.0)

#define U(di, dj, dk) u[t % 2][i + (di)][j + (dj)][k + (dk)]
#define G(di, dj, dk) g[i + (di)][j + (dj)][k + (dk)]
#define SQUARE(x) ((x) * (x))

static void denoise(int tsteps, int nx, int ny, int nz, DATA_TYPE u[2][nx][ny][nz],
                    DATA_TYPE f[nx][ny][nz], DATA_TYPE g[nx][ny][nz])
{
#pragma scop
    for (int t = 0; t < tsteps; t++) {
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
                for (int k = 1; k < nz - 1; k++)
                    g[i][j][k] =
                        SCALAR_VAL(1.0) / SQRT_FUN(EPSILON + SQUARE(U(0, 0, 0) - U(-1, 0, 0)) +
                                                   SQUARE(U(0, 0, 0) - U(1, 0, 0)) +
                                                   SQUARE(U(0, 0, 0) - U(0, -1, 0)) +
                                                   SQUARE(U(0, 0, 0) - U(0, 1, 0)) +
                                                   SQUARE(U(0, 0, 0) - U(0, 0, -1)) +
                                                   SQUARE(U(0, 0, 0) - U(0, 0, 1)));
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
                for (int k = 1; k < nz - 1; k++) {
                    DATA_TYPE r = U(0, 0, 0) * f[i][j][k] / SIGMA2;
                    DATA_TYPE ratio = r * (SCALAR_VAL(2.38944) + r * (SCALAR_VAL(0.950037) + r)) /
                                      (SCALAR_VAL(4.65314) +
                                       r * (SCALAR_VAL(2.57541) + r * (SCALAR_VAL(1.48937) + r)));
                    DATA_TYPE smooth = U(-1, 0, 0) * G(-1, 0, 0) + U(1, 0, 0) * G(1, 0, 0) +
                                       U(0, -1, 0) * G(0, -1, 0) + U(0, 1, 0) * G(0, 1, 0) +
                                       U(0, 0, -1) * G(0, 0, -1) + U(0, 0, 1) * G(0, 0, 1);
                    DATA_TYPE weight = G(-1, 0, 0) + G(1, 0, 0) + G(0, -1, 0) + G(0, 1, 0) +
                                       G(0, 0, -1) + G(0, 0, 1);
                    u[(t + 1) % 2][i][j][k] =
                        (U(0, 0, 0) + DT * (smooth + GAMMA * f[i][j][k] * ratio)) /
                        (SCALAR_VAL(1.0) + DT * (weight + GAMMA));
                }
    }
#pragma endscop
}

int main(void)
{
    int tsteps = TSTEPS;
    int nx = NX;
    int ny = NY;
    int nz = NZ;
    typedef DATA_TYPE plane[POLYBENCH_EXTENT(ny)][POLYBENCH_EXTENT(nz)];
    plane(*u)[POLYBENCH_EXTENT(nx)] = stencil_planes("u", 1, nx, ny, nz);
    plane *f = stencil_field("f", 2, nx, ny, nz);
    plane *g = polybench_alloc_data((size_t) nx, sizeof *g);

    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++)
            for (int k = 0; k < nz; k++)
                if (i == 0 || i == nx - 1 || j == 0 || j == ny - 1 || k == 0 || k == nz - 1)
                    g[i][j][k] = 0;

    polybench_start_instruments;
    denoise(tsteps, nx, ny, nz, u, f, g);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("u", u, 2 * (size_t) nx * ny * nz);
    free(u);
    free(f);
    free(g);
    return 0;
}
