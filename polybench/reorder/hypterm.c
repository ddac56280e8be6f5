/*
 * hypterm: the hyperbolic terms of the compressible Navier-Stokes equations on a grid of
 * nz x ny x nx elements, with differences over four points on each side, in three sweeps, one
 * for each axis. The four outer layers of the results stay.
 */
#include "../stencil-io.h"
#include "../stencilgen/hypterm.h"

#ifndef NZ
#define NZ POLYBENCH_SIZE(14, 24, 108, 308, 408)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(15, 28, 118, 308, 408)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(16, 32, 128, 308, 408)
#endif

static void hypterm(int nz, int ny, int nx, DATA_TYPE hx, DATA_TYPE hy, DATA_TYPE hz,
                    DATA_TYPE mx[nz][ny][nx], DATA_TYPE my[nz][ny][nx], DATA_TYPE mz[nz][ny][nx],
                    DATA_TYPE e[nz][ny][nx], DATA_TYPE u[nz][ny][nx], DATA_TYPE v[nz][ny][nx],
                    DATA_TYPE w[nz][ny][nx], DATA_TYPE p[nz][ny][nx], DATA_TYPE F0[nz][ny][nx],
                    DATA_TYPE F1[nz][ny][nx], DATA_TYPE F2[nz][ny][nx], DATA_TYPE F3[nz][ny][nx],
                    DATA_TYPE F4[nz][ny][nx])
{
#pragma scop
    for (int k = 4; k < nz - 4; k++)
        for (int j = 4; j < ny - 4; j++)
            for (int i = 4; i < nx - 4; i++) {
                F0[k][j][i] = -hx * DIFFERENCE_X(MASS_X);
                F1[k][j][i] = -hx * DIFFERENCE_X(MX_X);
                F2[k][j][i] = -hx * DIFFERENCE_X(MY_X);
                F3[k][j][i] = -hx * DIFFERENCE_X(MZ_X);
                F4[k][j][i] = -hx * DIFFERENCE_X(ENERGY_X);
            }
    for (int k = 4; k < nz - 4; k++)
        for (int j = 4; j < ny - 4; j++)
            for (int i = 4; i < nx - 4; i++) {
                F0[k][j][i] -= hy * DIFFERENCE_Y(MASS_Y);
                F1[k][j][i] -= hy * DIFFERENCE_Y(MX_Y);
                F2[k][j][i] -= hy * DIFFERENCE_Y(MY_Y);
                F3[k][j][i] -= hy * DIFFERENCE_Y(MZ_Y);
                F4[k][j][i] -= hy * DIFFERENCE_Y(ENERGY_Y);
            }
    for (int k = 4; k < nz - 4; k++)
        for (int j = 4; j < ny - 4; j++)
            for (int i = 4; i < nx - 4; i++) {
                F0[k][j][i] -= hz * DIFFERENCE_Z(MASS_Z);
                F1[k][j][i] -= hz * DIFFERENCE_Z(MX_Z);
                F2[k][j][i] -= hz * DIFFERENCE_Z(MY_Z);
                F3[k][j][i] -= hz * DIFFERENCE_Z(MZ_Z);
                F4[k][j][i] -= hz * DIFFERENCE_Z(ENERGY_Z);
            }
#pragma endscop
}

int main(void)
{
    int nz = NZ;
    int ny = NY;
    int nx = NX;
    typedef DATA_TYPE plane[POLYBENCH_EXTENT(ny)][POLYBENCH_EXTENT(nx)];
    size_t count = (size_t) nz * ny * nx;
    plane *mx = stencil_field("mx", 1, nz, ny, nx);
    plane *my = stencil_field("my", 2, nz, ny, nx);
    plane *mz = stencil_field("mz", 3, nz, ny, nx);
    plane *e = stencil_field("e", 4, nz, ny, nx);
    plane *u = stencil_field("u", 5, nz, ny, nx);
    plane *v = stencil_field("v", 6, nz, ny, nx);
    plane *w = stencil_field("w", 7, nz, ny, nx);
    plane *p = stencil_field("p", 8, nz, ny, nx);
    plane *F0 = stencil_field("F0", 9, nz, ny, nx);
    plane *F1 = stencil_field("F1", 10, nz, ny, nx);
    plane *F2 = stencil_field("F2", 11, nz, ny, nx);
    plane *F3 = stencil_field("F3", 12, nz, ny, nx);
    plane *F4 = stencil_field("F4", 13, nz, ny, nx);

    polybench_start_instruments;
    hypterm(nz, ny, nx, SCALAR_VAL(0.01), SCALAR_VAL(0.02), SCALAR_VAL(0.03), mx, my, mz, e, u, v, w,
            p, F0, F1, F2, F3, F4);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("F0", F0, count);
    polybench_output("F1", F1, count);
    polybench_output("F2", F2, count);
    polybench_output("F3", F3, count);
    polybench_output("F4", F4, count);
    free(mx);
    free(my);
    free(mz);
    free(e);
    free(u);
    free(v);
    free(w);
    free(p);
    free(F0);
    free(F1);
    free(F2);
    free(F3);
    free(F4);
    return 0;
}
