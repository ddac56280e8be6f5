/*
 * The hyperbolic terms of the compressible Navier-Stokes equations, as macros at a grid point
 * (k, j, i): the fluxes of mass, momentum (mx, my, mz) and energy e, carried by the velocity
 * (u, v, w) and pushed by the pressure p, and their differences along the axes.
 */
#ifndef HYPTERM_H
#define HYPTERM_H

#define MASS_X(k, j, i) mx[k][j][i]
#define MASS_Y(k, j, i) my[k][j][i]
#define MASS_Z(k, j, i) mz[k][j][i]

#define MX_X(k, j, i) (mx[k][j][i] * u[k][j][i] + p[k][j][i])
#define MX_Y(k, j, i) (mx[k][j][i] * v[k][j][i])
#define MX_Z(k, j, i) (mx[k][j][i] * w[k][j][i])

#define MY_X(k, j, i) (my[k][j][i] * u[k][j][i])
#define MY_Y(k, j, i) (my[k][j][i] * v[k][j][i] + p[k][j][i])
#define MY_Z(k, j, i) (my[k][j][i] * w[k][j][i])

#define MZ_X(k, j, i) (mz[k][j][i] * u[k][j][i])
#define MZ_Y(k, j, i) (mz[k][j][i] * v[k][j][i])
#define MZ_Z(k, j, i) (mz[k][j][i] * w[k][j][i] + p[k][j][i])

#define ENERGY_X(k, j, i) ((e[k][j][i] + p[k][j][i]) * u[k][j][i])
#define ENERGY_Y(k, j, i) ((e[k][j][i] + p[k][j][i]) * v[k][j][i])
#define ENERGY_Z(k, j, i) ((e[k][j][i] + p[k][j][i]) * w[k][j][i])

#define DIFFERENCE_X(flux)                                               \
    (SCALAR_VAL(0.8) * (flux(k, j, i + 1) - flux(k, j, i - 1)) -         \
     SCALAR_VAL(0.2) * (flux(k, j, i + 2) - flux(k, j, i - 2)) +         \
     SCALAR_VAL(0.038) * (flux(k, j, i + 3) - flux(k, j, i - 3)) -       \
     SCALAR_VAL(0.0035) * (flux(k, j, i + 4) - flux(k, j, i - 4)))
#define DIFFERENCE_Y(flux)                                               \
    (SCALAR_VAL(0.8) * (flux(k, j + 1, i) - flux(k, j - 1, i)) -         \
     SCALAR_VAL(0.2) * (flux(k, j + 2, i) - flux(k, j - 2, i)) +         \
     SCALAR_VAL(0.038) * (flux(k, j + 3, i) - flux(k, j - 3, i)) -       \
     SCALAR_VAL(0.0035) * (flux(k, j + 4, i) - flux(k, j - 4, i)))
#define DIFFERENCE_Z(flux)                                               \
    (SCALAR_VAL(0.8) * (flux(k + 1, j, i) - flux(k - 1, j, i)) -         \
     SCALAR_VAL(0.2) * (flux(k + 2, j, i) - flux(k - 2, j, i)) +         \
     SCALAR_VAL(0.038) * (flux(k + 3, j, i) - flux(k - 3, j, i)) -       \
     SCALAR_VAL(0.0035) * (flux(k + 4, j, i) - flux(k - 4, j, i)))

#endif
