/*
 * sp-xsolve-1: forward elimination along x in the pentadiagonal systems of NAS SP whose matrix
 * belongs to the convection speed u, for three right-hand sides at once. Row i is scaled to a
 * diagonal of 1 and taken off the two rows after it.
 */
#include "sp-xsolve.h"

#ifndef NX
#define NX POLYBENCH_SIZE(12, 36, 64, 256, 408)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(12, 36, 64, 256, 408)
#endif
#ifndef NZ
#define NZ POLYBENCH_SIZE(11, 35, 63, 255, 407)
#endif

static void x_solve(int nx, int ny, int nz, DATA_TYPE lhs[5][nz][nx][ny],
                    DATA_TYPE rhs[5][nz][nx][ny])
{
#pragma scop
    for (int k = 1; k < nz; k++)
        for (int j = 1; j <= ny - 2; j++)
            for (int i = 0; i <= nx - 3; i++) {
                DATA_TYPE fac = SCALAR_VAL(1.0) / lhs[2][k][i][j];

                lhs[3][k][i][j] = fac * lhs[3][k][i][j];
                lhs[4][k][i][j] = fac * lhs[4][k][i][j];
                for (int m = 0; m < 3; m++)
                    rhs[m][k][i][j] = fac * rhs[m][k][i][j];

                lhs[2][k][i + 1][j] -= lhs[1][k][i + 1][j] * lhs[3][k][i][j];
                lhs[3][k][i + 1][j] -= lhs[1][k][i + 1][j] * lhs[4][k][i][j];
                for (int m = 0; m < 3; m++)
                    rhs[m][k][i + 1][j] -= lhs[1][k][i + 1][j] * rhs[m][k][i][j];

                lhs[1][k][i + 2][j] -= lhs[0][k][i + 2][j] * lhs[3][k][i][j];
                lhs[2][k][i + 2][j] -= lhs[0][k][i + 2][j] * lhs[4][k][i][j];
                for (int m = 0; m < 3; m++)
                    rhs[m][k][i + 2][j] -= lhs[0][k][i + 2][j] * rhs[m][k][i][j];
            }
#pragma endscop
}

int main(void)
{
    int nx = NX;
    int ny = NY;
    int nz = NZ;
    size_t count = (size_t) 5 * nz * nx * ny;
    DATA_TYPE *lhs = polybench_alloc_data(count, sizeof *lhs);
    DATA_TYPE *rhs = polybench_alloc_data(count, sizeof *rhs);

    if (count > 0) { /* array types have at least one element */
        init_bands(nx, ny, nz, 10, (void *) lhs);
        init_rhs(nx, ny, nz, 20, (void *) rhs);
    }
    polybench_input("lhs", lhs, count);
    polybench_input("rhs", rhs, count);

    polybench_start_instruments;
    if (count > 0)
        x_solve(nx, ny, nz, (void *) lhs, (void *) rhs);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("lhs", lhs, count);
    polybench_output("rhs", rhs, count);
    free(lhs);
    free(rhs);
    return 0;
}
