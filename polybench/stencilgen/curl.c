/*
 * curl: an operator like the curl applied twice to a vector field (X, Y, Z) on a grid of
 * nz x ny x nx elements, with forward differences to (CX, CY, CZ) and with backward differences
 * from there to the interior of (OX, OY, OZ). Each component adds itself, and the signs are those
 * of the benchmark, not of a curl.
 */
#include "../stencil-io.h"

#ifndef NZ
#define NZ POLYBENCH_SIZE(10, 30, 100, 450, 600)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(11, 35, 110, 450, 600)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(12, 40, 120, 450, 600)
#endif

static void curl(int nz, int ny, int nx, DATA_TYPE dx, DATA_TYPE dy, DATA_TYPE dz,
                 DATA_TYPE X[nz][ny][nx], DATA_TYPE Y[nz][ny][nx], DATA_TYPE Z[nz][ny][nx],
                 DATA_TYPE CX[nz][ny][nx], DATA_TYPE CY[nz][ny][nx], DATA_TYPE CZ[nz][ny][nx],
                 DATA_TYPE OX[nz][ny][nx], DATA_TYPE OY[nz][ny][nx], DATA_TYPE OZ[nz][ny][nx])
{
#pragma scop
    for (int k = 0; k < nz - 1; k++)
        for (int j = 0; j < ny - 1; j++)
            for (int i = 0; i < nx - 1; i++) {
                CX[k][j][i] = dz * (Y[k + 1][j][i] - Y[k][j][i]) -
                              dy * (Z[k][j + 1][i] - Z[k][j][i]) + X[k][j][i];
                CY[k][j][i] = dz * (X[k + 1][j][i] - X[k][j][i]) -
                              dx * (Z[k][j][i + 1] - Z[k][j][i]) + Y[k][j][i];
                CZ[k][j][i] = dy * (X[k][j + 1][i] - X[k][j][i]) -
                              dx * (Y[k][j][i + 1] - Y[k][j][i]) + Z[k][j][i];
            }
    for (int k = 1; k < nz - 1; k++)
        for (int j = 1; j < ny - 1; j++)
            for (int i = 1; i < nx - 1; i++) {
                OX[k][j][i] = dz * (CY[k][j][i] - CY[k - 1][j][i]) -
                              dy * (CZ[k][j][i] - CZ[k][j - 1][i]) + CX[k][j][i];
                OY[k][j][i] = dz * (CX[k][j][i] - CX[k - 1][j][i]) -
                              dx * (CZ[k][j][i] - CZ[k][j][i - 1]) + CY[k][j][i];
                OZ[k][j][i] = dy * (CX[k][j][i] - CX[k][j - 1][i]) -
                              dx * (CY[k][j][i] - CY[k][j][i - 1]) + CZ[k][j][i];
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
    plane *X = stencil_field("X", 1, nz, ny, nx);
    plane *Y = stencil_field("Y", 2, nz, ny, nx);
    plane *Z = stencil_field("Z", 3, nz, ny, nx);
    plane *OX = stencil_field("OX", 4, nz, ny, nx);
    plane *OY = stencil_field("OY", 5, nz, ny, nx);
    plane *OZ = stencil_field("OZ", 6, nz, ny, nx);
    plane *CX = polybench_alloc_data((size_t) nz, sizeof *CX);
    plane *CY = polybench_alloc_data((size_t) nz, sizeof *CY);
    plane *CZ = polybench_alloc_data((size_t) nz, sizeof *CZ);

    polybench_start_instruments;
    curl(nz, ny, nx, SCALAR_VAL(0.3), SCALAR_VAL(0.5), SCALAR_VAL(0.7), X, Y, Z, CX, CY, CZ,
         OX, OY, OZ);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("OX", OX, count);
    polybench_output("OY", OY, count);
    polybench_output("OZ", OZ, count);
    free(X);
    free(Y);
    free(Z);
    free(OX);
    free(OY);
    free(OZ);
    free(CX);
    free(CY);
    free(CZ);
    return 0;
}
