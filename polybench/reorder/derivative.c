/*
 * derivative: the mixed derivatives in the first component of the elastic wave equation's
 * right-hand side, on a curvilinear grid of nx x ny x nz elements: for the displacement
 * (u1, u2, u3), the material (mu, la), the metric m1 ... m4 and the stretchings sx and sy, r gains
 * differences of weighted differences along two axes each; its two outer layers stay. With SEPARATE
 * the terms of u3 are added in a nest of their own.
 */
#include "../stencil-io.h"

#ifndef NX
#define NX POLYBENCH_SIZE(8, 20, 104, 304, 404)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(9, 24, 114, 304, 404)
#endif
#ifndef NZ
#define NZ POLYBENCH_SIZE(10, 28, 124, 304, 404)
#endif

/* The differences along the axes of a field at a point. */
#define SLOPE_X(u, i, j, k) \
    (c2 * (u[i + 2][j][k] - u[i - 2][j][k]) + c1 * (u[i + 1][j][k] - u[i - 1][j][k]))
#define SLOPE_Y(u, i, j, k) \
    (c2 * (u[i][j + 2][k] - u[i][j - 2][k]) + c1 * (u[i][j + 1][k] - u[i][j - 1][k]))
#define SLOPE_Z(u, i, j, k) \
    (c2 * (u[i][j][k + 2] - u[i][j][k - 2]) + c1 * (u[i][j][k + 1] - u[i][j][k - 1]))

/* The coefficients: a material term and two of the metric. */
#define MU(i, j, k) mu[i][j][k]
#define LA(i, j, k) la[i][j][k]
#define TWO_MU_LA(i, j, k) (2 * mu[i][j][k] + la[i][j][k])
#define WEIGHT(c, m, i, j, k) (c(i, j, k) * m[i][j][k] * m1[i][j][k])

/* What is differentiated; stx and sty are the stretchings in the centre. */
#define TERM_YX(i, j, k) (WEIGHT(MU, m1, i, j, k) * SLOPE_X(u2, i, j, k))
#define TERM_XY(i, j, k) (WEIGHT(LA, m1, i, j, k) * SLOPE_Y(u2, i, j, k))
#define TERM_ZX(i, j, k)                                              \
    (stx * sty * WEIGHT(TWO_MU_LA, m2, i, j, k) * SLOPE_X(u1, i, j, k) + \
     WEIGHT(MU, m3, i, j, k) * SLOPE_X(u2, i, j, k) +                 \
     sty * WEIGHT(MU, m4, i, j, k) * SLOPE_X(u3, i, j, k))
#define TERM_XZ(i, j, k)                                              \
    (stx * WEIGHT(TWO_MU_LA, m2, i, j, k) * SLOPE_Z(u1, i, j, k) +    \
     sty * WEIGHT(LA, m3, i, j, k) * SLOPE_Z(u2, i, j, k) +           \
     WEIGHT(LA, m4, i, j, k) * SLOPE_Z(u3, i, j, k))
#define TERM_ZY(i, j, k)                                              \
    (stx * sty * WEIGHT(MU, m3, i, j, k) * SLOPE_Y(u1, i, j, k) +     \
     WEIGHT(LA, m2, i, j, k) * SLOPE_Y(u2, i, j, k))
#define TERM_YZ(i, j, k)                                              \
    (stx * sty * WEIGHT(MU, m3, i, j, k) * SLOPE_Z(u1, i, j, k) +     \
     WEIGHT(MU, m2, i, j, k) * SLOPE_Z(u2, i, j, k))

/* The differences along the axes of a term in the centre. */
#define DIFFERENCE_X(term)                                \
    (c2 * (term(i + 2, j, k) - term(i - 2, j, k)) +       \
     c1 * (term(i + 1, j, k) - term(i - 1, j, k)))
#define DIFFERENCE_Y(term)                                \
    (c2 * (term(i, j + 2, k) - term(i, j - 2, k)) +       \
     c1 * (term(i, j + 1, k) - term(i, j - 1, k)))
#define DIFFERENCE_Z(term)                                \
    (c2 * (term(i, j, k + 2) - term(i, j, k - 2)) +       \
     c1 * (term(i, j, k + 1) - term(i, j, k - 1)))

static void derivative(int nx, int ny, int nz, DATA_TYPE c1, DATA_TYPE c2, DATA_TYPE sx[nx],
                       DATA_TYPE sy[ny], DATA_TYPE u1[nx][ny][nz], DATA_TYPE u2[nx][ny][nz],
                       DATA_TYPE u3[nx][ny][nz], DATA_TYPE mu[nx][ny][nz], DATA_TYPE la[nx][ny][nz],
                       DATA_TYPE m1[nx][ny][nz], DATA_TYPE m2[nx][ny][nz], DATA_TYPE m3[nx][ny][nz],
                       DATA_TYPE m4[nx][ny][nz], DATA_TYPE r[nx][ny][nz])
{
#pragma scop
#ifndef SEPARATE
    for (int i = 2; i < nx - 2; i++)
        for (int j = 2; j < ny - 2; j++)
            for (int k = 2; k < nz - 2; k++) {
                DATA_TYPE stx = sx[i];
                DATA_TYPE sty = sy[j];
                r[i][j][k] += DIFFERENCE_Y(TERM_YX) + DIFFERENCE_X(TERM_XY) +
                              DIFFERENCE_Z(TERM_ZX) + sty * DIFFERENCE_X(TERM_XZ) +
                              DIFFERENCE_Z(TERM_ZY) + DIFFERENCE_Y(TERM_YZ);
            }
#else
    for (int i = 2; i < nx - 2; i++)
        for (int j = 2; j < ny - 2; j++)
            for (int k = 2; k < nz - 2; k++) {
                DATA_TYPE stx = sx[i];
                DATA_TYPE sty = sy[j];
                r[i][j][k] += DIFFERENCE_Y(TERM_YX) + DIFFERENCE_X(TERM_XY) +
                              DIFFERENCE_Z(TERM_ZY) + DIFFERENCE_Y(TERM_YZ);
            }
    for (int i = 2; i < nx - 2; i++)
        for (int j = 2; j < ny - 2; j++)
            for (int k = 2; k < nz - 2; k++) {
                DATA_TYPE stx = sx[i];
                DATA_TYPE sty = sy[j];
                r[i][j][k] += DIFFERENCE_Z(TERM_ZX) + sty * DIFFERENCE_X(TERM_XZ);
            }
#endif
#pragma endscop
}

int main(void)
{
    int nx = NX;
    int ny = NY;
    int nz = NZ;
    typedef DATA_TYPE plane[POLYBENCH_EXTENT(ny)][POLYBENCH_EXTENT(nz)];
    plane *r = stencil_field("r", 1, nx, ny, nz);
    plane *u1 = stencil_field("u1", 2, nx, ny, nz);
    plane *u2 = stencil_field("u2", 3, nx, ny, nz);
    plane *u3 = stencil_field("u3", 4, nx, ny, nz);
    plane *mu = stencil_field("mu", 5, nx, ny, nz);
    plane *la = stencil_field("la", 6, nx, ny, nz);
    plane *m1 = stencil_field("m1", 7, nx, ny, nz);
    plane *m2 = stencil_field("m2", 8, nx, ny, nz);
    plane *m3 = stencil_field("m3", 9, nx, ny, nz);
    plane *m4 = stencil_field("m4", 10, nx, ny, nz);
    DATA_TYPE *sx = stencil_field("sx", 11, nx, 1, 1);
    DATA_TYPE *sy = stencil_field("sy", 12, ny, 1, 1);

    polybench_start_instruments;
    derivative(nx, ny, nz, SCALAR_VAL(0.32), SCALAR_VAL(0.43), sx, sy, u1, u2, u3, mu, la, m1, m2,
               m3, m4, r);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("r", r, (size_t) nx * ny * nz);
    free(r);
    free(u1);
    free(u2);
    free(u3);
    free(mu);
    free(la);
    free(m1);
    free(m2);
    free(m3);
    free(m4);
    free(sx);
    free(sy);
    return 0;
}
