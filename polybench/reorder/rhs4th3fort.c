/*
 * rhs4th3fort: the right-hand side of the elastic wave equation to fourth order, on a stretched
 * Cartesian grid of nz x ny x nx elements: for the displacement (u0, u1, u2) and the material
 * (mu, la), with the stretchings sx, sy, sz of the axes, the accelerations
 *
 *     Rm = a1 Rm + cof rm
 *
 * in the interior; the two outer layers of R0, R1 and R2 stay. Second derivatives along one axis
 * have variable coefficients (BEND), those along two axes are differences of weighted differences.
 * With SEPARATE each acceleration has a nest of its own.
 */
#include "../stencil-io.h"

#ifndef NZ
#define NZ POLYBENCH_SIZE(8, 20, 104, 304, 404)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(9, 24, 114, 304, 404)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(10, 28, 124, 304, 404)
#endif

/* A coefficient at offset m along an axis, with the stretching there. */
#define MU_X(m) (mu[k][j][i + (m)] * sx[i + (m)])
#define MU_Y(m) (mu[k][j + (m)][i] * sy[j + (m)])
#define MU_Z(m) (mu[k + (m)][j][i] * sz[k + (m)])
#define LA_X(m) (la[k][j][i + (m)] * sx[i + (m)])
#define LA_Y(m) (la[k][j + (m)][i] * sy[j + (m)])
#define LA_Z(m) (la[k + (m)][j][i] * sz[k + (m)])

/* The weights of the differences of a field to its values at -2, -1, 1 and 2. */
#define WEIGHT1(c) (c(-1) - SCALAR_VAL(0.75) * (c(0) + c(-2)))
#define WEIGHT2(c) (c(-2) + c(1) + SCALAR_VAL(3.0) * (c(0) + c(-1)))
#define WEIGHT3(c) (c(-1) + c(2) + SCALAR_VAL(3.0) * (c(1) + c(0)))
#define WEIGHT4(c) (c(1) - SCALAR_VAL(0.75) * (c(0) + c(2)))

#define BEND_X(g, u)                                                                           \
    (sx[i] * (g##1 * (u[k][j][i - 2] - u[k][j][i]) + g##2 * (u[k][j][i - 1] - u[k][j][i]) +    \
              g##3 * (u[k][j][i + 1] - u[k][j][i]) + g##4 * (u[k][j][i + 2] - u[k][j][i])))
#define BEND_Y(g, u)                                                                           \
    (sy[j] * (g##1 * (u[k][j - 2][i] - u[k][j][i]) + g##2 * (u[k][j - 1][i] - u[k][j][i]) +    \
              g##3 * (u[k][j + 1][i] - u[k][j][i]) + g##4 * (u[k][j + 2][i] - u[k][j][i])))
#define BEND_Z(g, u)                                                                           \
    (sz[k] * (g##1 * (u[k - 2][j][i] - u[k][j][i]) + g##2 * (u[k - 1][j][i] - u[k][j][i]) +    \
              g##3 * (u[k + 1][j][i] - u[k][j][i]) + g##4 * (u[k + 2][j][i] - u[k][j][i])))

/* Twelve times the first derivative along an axis of a field, weighted with c at that point. */
#define SLOPE_X(c, u, k, j, i)                                                        \
    (c[k][j][i] * (u[k][j][i - 2] - SCALAR_VAL(8.0) * (u[k][j][i - 1] - u[k][j][i + 1]) - \
                   u[k][j][i + 2]))
#define SLOPE_Y(c, u, k, j, i)                                                        \
    (c[k][j][i] * (u[k][j - 2][i] - SCALAR_VAL(8.0) * (u[k][j - 1][i] - u[k][j + 1][i]) - \
                   u[k][j + 2][i]))
#define SLOPE_Z(c, u, k, j, i)                                                        \
    (c[k][j][i] * (u[k - 2][j][i] - SCALAR_VAL(8.0) * (u[k - 1][j][i] - u[k + 1][j][i]) - \
                   u[k + 2][j][i]))

/* The same along another axis. */
#define MIXED_X(slope, c, u)                                                            \
    (slope(c, u, k, j, i - 2) -                                                         \
     SCALAR_VAL(8.0) * (slope(c, u, k, j, i - 1) - slope(c, u, k, j, i + 1)) -          \
     slope(c, u, k, j, i + 2))
#define MIXED_Y(slope, c, u)                                                            \
    (slope(c, u, k, j - 2, i) -                                                         \
     SCALAR_VAL(8.0) * (slope(c, u, k, j - 1, i) - slope(c, u, k, j + 1, i)) -          \
     slope(c, u, k, j + 2, i))
#define MIXED_Z(slope, c, u)                                                            \
    (slope(c, u, k - 2, j, i) -                                                         \
     SCALAR_VAL(8.0) * (slope(c, u, k - 1, j, i) - slope(c, u, k + 1, j, i)) -          \
     slope(c, u, k + 2, j, i))

#define SIXTH (SCALAR_VAL(1.0) / SCALAR_VAL(6.0))
#define I144 (SCALAR_VAL(1.0) / SCALAR_VAL(144.0))

#define NEXT_0                                                                   \
    a1 * R0[k][j][i] +                                                           \
    cof * (SIXTH * (BEND_X(lax, u0) + BEND_Y(muy, u0) + BEND_Z(muz, u0)) +       \
           sxy * (MIXED_X(SLOPE_Y, la, u1) + MIXED_Y(SLOPE_X, mu, u1)) +         \
           sxz * (MIXED_X(SLOPE_Z, la, u2) + MIXED_Z(SLOPE_X, mu, u2)))
#define NEXT_1                                                                   \
    a1 * R1[k][j][i] +                                                           \
    cof * (SIXTH * (BEND_X(mux, u1) + BEND_Y(lay, u1) + BEND_Z(muz, u1)) +       \
           sxy * (MIXED_X(SLOPE_Y, mu, u0) + MIXED_Y(SLOPE_X, la, u0)) +         \
           syz * (MIXED_Y(SLOPE_Z, la, u2) + MIXED_Z(SLOPE_Y, mu, u2)))
#define NEXT_2                                                                   \
    a1 * R2[k][j][i] +                                                           \
    cof * (SIXTH * (BEND_X(mux, u2) + BEND_Y(muy, u2) + BEND_Z(laz, u2)) +       \
           sxz * (MIXED_X(SLOPE_Z, mu, u0) + MIXED_Z(SLOPE_X, la, u0)) +         \
           syz * (MIXED_Y(SLOPE_Z, mu, u1) + MIXED_Z(SLOPE_Y, la, u1)))
#define VALUES_MU(name, mu)                                                                   \
    DATA_TYPE name##1 = WEIGHT1(mu), name##2 = WEIGHT2(mu), name##3 = WEIGHT3(mu), name##4 = WEIGHT4(mu)
#define VALUES_LA(name, mu, la)                                                               \
    DATA_TYPE name##1 = 2 * WEIGHT1(mu) + WEIGHT1(la), name##2 = 2 * WEIGHT2(mu) + WEIGHT2(la), \
              name##3 = 2 * WEIGHT3(mu) + WEIGHT3(la), name##4 = 2 * WEIGHT4(mu) + WEIGHT4(la)

static void rhs4th3fort(int nz, int ny, int nx, DATA_TYPE a1, DATA_TYPE cof, DATA_TYPE sx[nx],
                        DATA_TYPE sy[ny], DATA_TYPE sz[nz], DATA_TYPE u0[nz][ny][nx],
                        DATA_TYPE u1[nz][ny][nx], DATA_TYPE u2[nz][ny][nx],
                        DATA_TYPE mu[nz][ny][nx], DATA_TYPE la[nz][ny][nx],
                        DATA_TYPE R0[nz][ny][nx], DATA_TYPE R1[nz][ny][nx],
                        DATA_TYPE R2[nz][ny][nx])
{
#pragma scop
#ifndef SEPARATE
    for (int k = 2; k < nz - 2; k++)
        for (int j = 2; j < ny - 2; j++)
            for (int i = 2; i < nx - 2; i++) {
                DATA_TYPE mux1 = WEIGHT1(MU_X), mux2 = WEIGHT2(MU_X);
                DATA_TYPE mux3 = WEIGHT3(MU_X), mux4 = WEIGHT4(MU_X);
                DATA_TYPE muy1 = WEIGHT1(MU_Y), muy2 = WEIGHT2(MU_Y);
                DATA_TYPE muy3 = WEIGHT3(MU_Y), muy4 = WEIGHT4(MU_Y);
                DATA_TYPE muz1 = WEIGHT1(MU_Z), muz2 = WEIGHT2(MU_Z);
                DATA_TYPE muz3 = WEIGHT3(MU_Z), muz4 = WEIGHT4(MU_Z);
                DATA_TYPE lax1 = 2 * mux1 + WEIGHT1(LA_X), lax2 = 2 * mux2 + WEIGHT2(LA_X);
                DATA_TYPE lax3 = 2 * mux3 + WEIGHT3(LA_X), lax4 = 2 * mux4 + WEIGHT4(LA_X);
                DATA_TYPE lay1 = 2 * muy1 + WEIGHT1(LA_Y), lay2 = 2 * muy2 + WEIGHT2(LA_Y);
                DATA_TYPE lay3 = 2 * muy3 + WEIGHT3(LA_Y), lay4 = 2 * muy4 + WEIGHT4(LA_Y);
                DATA_TYPE laz1 = 2 * muz1 + WEIGHT1(LA_Z), laz2 = 2 * muz2 + WEIGHT2(LA_Z);
                DATA_TYPE laz3 = 2 * muz3 + WEIGHT3(LA_Z), laz4 = 2 * muz4 + WEIGHT4(LA_Z);
                DATA_TYPE sxy = I144 * sx[i] * sy[j];
                DATA_TYPE sxz = I144 * sx[i] * sz[k];
                DATA_TYPE syz = I144 * sy[j] * sz[k];

                R0[k][j][i] = NEXT_0;
                R1[k][j][i] = NEXT_1;
                R2[k][j][i] = NEXT_2;
            }
#else
    for (int k = 2; k < nz - 2; k++)
        for (int j = 2; j < ny - 2; j++)
            for (int i = 2; i < nx - 2; i++) {
                VALUES_LA(lax, MU_X, LA_X);
                VALUES_MU(muy, MU_Y);
                VALUES_MU(muz, MU_Z);
                DATA_TYPE sxy = I144 * sx[i] * sy[j];
                DATA_TYPE sxz = I144 * sx[i] * sz[k];

                R0[k][j][i] = NEXT_0;
            }
    for (int k = 2; k < nz - 2; k++)
        for (int j = 2; j < ny - 2; j++)
            for (int i = 2; i < nx - 2; i++) {
                VALUES_MU(mux, MU_X);
                VALUES_LA(lay, MU_Y, LA_Y);
                VALUES_MU(muz, MU_Z);
                DATA_TYPE sxy = I144 * sx[i] * sy[j];
                DATA_TYPE syz = I144 * sy[j] * sz[k];

                R1[k][j][i] = NEXT_1;
            }
    for (int k = 2; k < nz - 2; k++)
        for (int j = 2; j < ny - 2; j++)
            for (int i = 2; i < nx - 2; i++) {
                VALUES_MU(mux, MU_X);
                VALUES_MU(muy, MU_Y);
                VALUES_LA(laz, MU_Z, LA_Z);
                DATA_TYPE sxz = I144 * sx[i] * sz[k];
                DATA_TYPE syz = I144 * sy[j] * sz[k];

                R2[k][j][i] = NEXT_2;
            }
#endif
#pragma endscop
}

int main(void)
{
    int nz = NZ;
    int ny = NY;
    int nx = NX;
    typedef DATA_TYPE plane[POLYBENCH_EXTENT(ny)][POLYBENCH_EXTENT(nx)];
    DATA_TYPE h = SCALAR_VAL(3.7);
    size_t count = (size_t) nz * ny * nx;
    plane *u0 = stencil_field("u0", 1, nz, ny, nx);
    plane *u1 = stencil_field("u1", 2, nz, ny, nx);
    plane *u2 = stencil_field("u2", 3, nz, ny, nx);
    plane *mu = stencil_field("mu", 4, nz, ny, nx);
    plane *la = stencil_field("la", 5, nz, ny, nx);
    plane *R0 = stencil_field("R0", 6, nz, ny, nx);
    plane *R1 = stencil_field("R1", 7, nz, ny, nx);
    plane *R2 = stencil_field("R2", 8, nz, ny, nx);
    DATA_TYPE *sx = stencil_field("sx", 9, nx, 1, 1);
    DATA_TYPE *sy = stencil_field("sy", 10, ny, 1, 1);
    DATA_TYPE *sz = stencil_field("sz", 11, nz, 1, 1);

    polybench_start_instruments;
    rhs4th3fort(nz, ny, nx, SCALAR_VAL(1.0), SCALAR_VAL(1.0) / (h * h), sx, sy, sz, u0, u1, u2, mu,
                la, R0, R1, R2);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("R0", R0, count);
    polybench_output("R1", R1, count);
    polybench_output("R2", R2, count);
    free(u0);
    free(u1);
    free(u2);
    free(mu);
    free(la);
    free(R0);
    free(R1);
    free(R2);
    free(sx);
    free(sy);
    free(sz);
    return 0;
}
