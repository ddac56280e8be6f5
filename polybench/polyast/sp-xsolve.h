/*
 * What the two x sweeps share: bands[m][k][i][j] is the coefficient of x[i - 2 + m] in row i of
 * the pentadiagonal system (k, j), and rhs[m][k][i][j] the right-hand side of row i for the
 * unknown m. The systems are 1 <= k < nz and 1 <= j <= ny - 2; i goes along x.
 */
#ifndef SP_XSOLVE_H
#define SP_XSOLVE_H

#include "../polybench/polybench.h"

/* The diagonals dominate, so that the elimination needs no pivoting. */
static void init_bands(int nx, int ny, int nz, int array, DATA_TYPE bands[5][nz][nx][ny])
{
    for (int m = 0; m < 5; m++)
        for (int k = 0; k < nz; k++)
            for (int i = 0; i < nx; i++)
                for (int j = 0; j < ny; j++)
                    bands[m][k][i][j] = (DATA_TYPE) (polybench_random(array + m, k, i, j) -
                                                     0.5 + (m == 2 ? 4 : 0));
}

static void init_rhs(int nx, int ny, int nz, int array, DATA_TYPE rhs[5][nz][nx][ny])
{
    for (int m = 0; m < 5; m++)
        for (int k = 0; k < nz; k++)
            for (int i = 0; i < nx; i++)
                for (int j = 0; j < ny; j++)
                    rhs[m][k][i][j] = (DATA_TYPE) polybench_random(array + m, k, i, j);
}

#endif
