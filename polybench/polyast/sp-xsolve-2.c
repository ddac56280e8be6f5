/*
 * sp-xsolve-2: forward elimination along x in the pentadiagonal systems of NAS SP whose matrices
 * belong to the sound waves, u + c (lhsp) and u - c (lhsm), with one right-hand side each. Row i
 * is scaled to a diagonal of 1 and taken off the two rows after it.
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

static void x_solve(int nx, int ny, int nz, DATA_TYPE lhsp[5][nz][nx][ny],
                    DATA_TYPE lhsm[5][nz][nx][ny], DATA_TYPE rhs[5][nz][nx][ny])
{
#pragma scop
    for (int k = 1; k < nz; k++)
        for (int j = 1; j <= ny - 2; j++)
            for (int i = 0; i <= nx - 3; i++) {
                DATA_TYPE facp = SCALAR_VAL(1.0) / lhsp[2][k][i][j];

                lhsp[3][k][i][j] = facp * lhsp[3][k][i][j];
                lhsp[4][k][i][j] = facp * lhsp[4][k][i][j];
                rhs[3][k][i][j] = facp * rhs[3][k][i][j];
                lhsp[2][k][i + 1][j] -= lhsp[1][k][i + 1][j] * lhsp[3][k][i][j];
                lhsp[3][k][i + 1][j] -= lhsp[1][k][i + 1][j] * lhsp[4][k][i][j];
                rhs[3][k][i + 1][j] -= lhsp[1][k][i + 1][j] * rhs[3][k][i][j];
                lhsp[1][k][i + 2][j] -= lhsp[0][k][i + 2][j] * lhsp[3][k][i][j];
                lhsp[2][k][i + 2][j] -= lhsp[0][k][i + 2][j] * lhsp[4][k][i][j];
                rhs[3][k][i + 2][j] -= lhsp[0][k][i + 2][j] * rhs[3][k][i][j];

                DATA_TYPE facm = SCALAR_VAL(1.0) / lhsm[2][k][i][j];

                lhsm[3][k][i][j] = facm * lhsm[3][k][i][j];
                lhsm[4][k][i][j] = facm * lhsm[4][k][i][j];
                rhs[4][k][i][j] = facm * rhs[4][k][i][j];
                lhsm[2][k][i + 1][j] -= lhsm[1][k][i + 1][j] * lhsm[3][k][i][j];
                lhsm[3][k][i + 1][j] -= lhsm[1][k][i + 1][j] * lhsm[4][k][i][j];
                rhs[4][k][i + 1][j] -= lhsm[1][k][i + 1][j] * rhs[4][k][i][j];
                lhsm[1][k][i + 2][j] -= lhsm[0][k][i + 2][j] * lhsm[3][k][i][j];
                lhsm[2][k][i + 2][j] -= lhsm[0][k][i + 2][j] * lhsm[4][k][i][j];
                rhs[4][k][i + 2][j] -= lhsm[0][k][i + 2][j] * rhs[4][k][i][j];
            }
#pragma endscop
}

int main(void)
{
    int nx = NX;
    int ny = NY;
    int nz = NZ;
    size_t count = (size_t) 5 * nz * nx * ny;
    DATA_TYPE *lhsp = polybench_alloc_data(count, sizeof *lhsp);
    DATA_TYPE *lhsm = polybench_alloc_data(count, sizeof *lhsm);
    DATA_TYPE *rhs = polybench_alloc_data(count, sizeof *rhs);

    if (count > 0) { /* array types have at least one element */
        init_bands(nx, ny, nz, 10, (void *) lhsp);
        init_bands(nx, ny, nz, 20, (void *) lhsm);
        init_rhs(nx, ny, nz, 30, (void *) rhs);
    }
    polybench_input("lhsp", lhsp, count);
    polybench_input("lhsm", lhsm, count);
    polybench_input("rhs", rhs, count);

    polybench_start_instruments;
    if (count > 0)
        x_solve(nx, ny, nz, (void *) lhsp, (void *) lhsm, (void *) rhs);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("lhsp", lhsp, count);
    polybench_output("lhsm", lhsm, count);
    polybench_output("rhs", rhs, count);
    free(lhsp);
    free(lhsm);
    free(rhs);
    return 0;
}
