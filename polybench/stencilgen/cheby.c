/*
 * cheby: a Chebyshev smoother for a 27-point operator L on a grid of nz x ny x nx elements. A step
 * makes the next iterate of the last two, A and P:
 *
 *     A + c1 (A - P) + c2 Dinv (RHS - (A - h2inv L A))
 *
 * in the interior, with c1 and c2 of the step; the border of all iterates is that of the first.
 * The three buffers change places in turn: step t reads the iterates t and t + 1.
 */
#include "../stencil-io.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(3, 4, 4, 4, 4)
#endif
#ifndef NZ
#define NZ POLYBENCH_SIZE(8, 20, 100, 512, 640)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(9, 24, 110, 512, 640)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(10, 28, 120, 512, 640)
#endif

#define V(dk, dj, di) A[(t + 1) % 3][k + (dk)][j + (dj)][i + (di)]

static void cheby(int tsteps, int nz, int ny, int nx, DATA_TYPE h2inv, DATA_TYPE c1[tsteps],
                  DATA_TYPE c2[tsteps], DATA_TYPE A[3][nz][ny][nx], DATA_TYPE RHS[nz][ny][nx],
                  DATA_TYPE Dinv[nz][ny][nx])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int k = 1; k < nz - 1; k++)
            for (int j = 1; j < ny - 1; j++)
                for (int i = 1; i < nx - 1; i++) {
                    DATA_TYPE faces = V(-1, 0, 0) + V(0, -1, 0) + V(0, 0, -1) + V(0, 0, 1) +
                                      V(0, 1, 0) + V(1, 0, 0);
                    DATA_TYPE edges = V(-1, -1, 0) + V(-1, 0, -1) + V(-1, 0, 1) + V(-1, 1, 0) +
                                      V(0, -1, -1) + V(0, -1, 1) + V(0, 1, -1) + V(0, 1, 1) +
                                      V(1, -1, 0) + V(1, 0, -1) + V(1, 0, 1) + V(1, 1, 0);
                    DATA_TYPE corners = V(-1, -1, -1) + V(-1, -1, 1) + V(-1, 1, -1) + V(-1, 1, 1) +
                                        V(1, -1, -1) + V(1, -1, 1) + V(1, 1, -1) + V(1, 1, 1);
                    DATA_TYPE LA = SCALAR_VAL(0.46) * faces + SCALAR_VAL(0.1) * edges +
                                   SCALAR_VAL(0.03) * corners - SCALAR_VAL(4.26) * V(0, 0, 0);
                    DATA_TYPE MA = V(0, 0, 0) - h2inv * LA;
                    A[(t + 2) % 3][k][j][i] = V(0, 0, 0) +
                                              c1[t] * (V(0, 0, 0) - A[t % 3][k][j][i]) +
                                              c2[t] * Dinv[k][j][i] * (RHS[k][j][i] - MA);
                }
#pragma endscop
}

/* Coefficients for a spectrum between beta / 8 and beta. */
static void coefficients(int tsteps, DATA_TYPE c1[tsteps], DATA_TYPE c2[tsteps])
{
    double beta = 2.175;
    double alpha = 0.125 * beta;
    double theta = (beta + alpha) / 2;
    double delta = (beta - alpha) / 2;
    double sigma = theta / delta;
    double rho = 1 / sigma;

    for (int t = 0; t < tsteps; t++) {
        if (t > 0)
            rho = 1 / (2 * sigma - rho);
        c1[t] = t > 0 ? (DATA_TYPE) (rho * rho) : SCALAR_VAL(0.0);
        c2[t] = t > 0 ? (DATA_TYPE) (2 * rho / delta) : (DATA_TYPE) (1 / theta);
    }
    polybench_input("c1", c1, (size_t) tsteps);
    polybench_input("c2", c2, (size_t) tsteps);
}

/* The border of the iterate before the first is not read, but it is that of a later iterate. */
static void init_iterates(int nz, int ny, int nx, DATA_TYPE A[3][nz][ny][nx])
{
    stencil_init(A[1], 1, 1.0, nz, ny, nx);
    stencil_init(A[0], 2, 1.0, nz, ny, nx);
    for (int k = 0; k < nz; k++)
        for (int j = 0; j < ny; j++)
            for (int i = 0; i < nx; i++)
                if (k == 0 || k == nz - 1 || j == 0 || j == ny - 1 || i == 0 || i == nx - 1)
                    A[0][k][j][i] = A[1][k][j][i];
    memcpy(A[2], A[1], sizeof A[2]);
    polybench_input("A", A, 3 * (size_t) nz * ny * nx);
}

int main(void)
{
    int tsteps = TSTEPS;
    int nz = NZ;
    int ny = NY;
    int nx = NX;
    typedef DATA_TYPE plane[POLYBENCH_EXTENT(ny)][POLYBENCH_EXTENT(nx)];
    DATA_TYPE *c1 = polybench_alloc_data((size_t) tsteps, sizeof *c1);
    DATA_TYPE *c2 = polybench_alloc_data((size_t) tsteps, sizeof *c2);
    plane(*A)[POLYBENCH_EXTENT(nz)] = polybench_alloc_data(3, sizeof *A);
    plane *RHS;
    plane *Dinv;

    coefficients(tsteps, c1, c2);
    init_iterates(nz, ny, nx, A);
    RHS = stencil_field("RHS", 3, nz, ny, nx);
    Dinv = stencil_field("Dinv", 4, nz, ny, nx);

    polybench_start_instruments;
    cheby(tsteps, nz, ny, nx, SCALAR_VAL(0.0025), c1, c2, A, RHS, Dinv);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 3 * (size_t) nz * ny * nx);
    free(c1);
    free(c2);
    free(A);
    free(RHS);
    free(Dinv);
    return 0;
}
