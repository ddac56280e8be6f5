/*
 * fdtd-2d: the electric field (ex, ey) and the magnetic field hz of a wave in the plane, on
 * staggered nx x ny grids, in tmax steps of the finite-difference time-domain method. In step t
 * the source _fict_[t] drives the row ey[0]; 0.5 and 0.7 are the two coefficients of the method.
 */
#include "polybench.h"

#ifndef TMAX
#define TMAX POLYBENCH_SIZE(20, 40, 100, 500, 1000)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(20, 60, 200, 1000, 2000)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(30, 80, 240, 1200, 2600)
#endif

#define _PB_TMAX POLYBENCH_LOOP_BOUND(TMAX, tmax)
#define _PB_NX POLYBENCH_LOOP_BOUND(NX, nx)
#define _PB_NY POLYBENCH_LOOP_BOUND(NY, ny)

static void init_array(int tmax, int nx, int ny, DATA_TYPE POLYBENCH_2D(ex, NX, NY, nx, ny),
                       DATA_TYPE POLYBENCH_2D(ey, NX, NY, nx, ny),
                       DATA_TYPE POLYBENCH_2D(hz, NX, NY, nx, ny),
                       DATA_TYPE POLYBENCH_1D(_fict_, TMAX, tmax))
{
    for (int t = 0; t < tmax; t++)
        _fict_[t] = (DATA_TYPE) (polybench_random(1, t, 0, 0) - 0.5);
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++) {
            ex[i][j] = (DATA_TYPE) polybench_field(2, i, j, 0);
            ey[i][j] = (DATA_TYPE) polybench_field(3, i, j, 0);
            hz[i][j] = (DATA_TYPE) polybench_field(4, i, j, 0);
        }
}

static void kernel_fdtd_2d(int tmax, int nx, int ny, DATA_TYPE POLYBENCH_2D(ex, NX, NY, nx, ny),
                           DATA_TYPE POLYBENCH_2D(ey, NX, NY, nx, ny),
                           DATA_TYPE POLYBENCH_2D(hz, NX, NY, nx, ny),
                           DATA_TYPE POLYBENCH_1D(_fict_, TMAX, tmax))
{
    int t, i, j;

    { /* fdtd-2d.c:44-59 runs on the GPU, compiled by polytile */
        extern int polytile_kernel_fdtd_2d_scop0(int tmax, int ny, int nx, double *ey, const double *_fict_,
                double *hz, double *ex);
        if (polytile_kernel_fdtd_2d_scop0(tmax, ny, nx, (double *)ey, (const double *)_fict_, (double *)hz,
                (double *)ex) != 0) {
            extern void exit(int);
            exit(4);
        }
        if (0) { /* the sequential C, compiled so that what it uses stays in use, but never run */
#line 45 "polybench/polybench/fdtd-2d.c"
    for (t = 0; t < _PB_TMAX; t++) {
        for (j = 0; j < _PB_NY; j++)
            ey[0][j] = _fict_[t];
        for (i = 1; i < _PB_NX; i++)
            for (j = 0; j < _PB_NY; j++)
                ey[i][j] = ey[i][j] - SCALAR_VAL(0.5) * (hz[i][j] - hz[i - 1][j]);
        for (i = 0; i < _PB_NX; i++)
            for (j = 1; j < _PB_NY; j++)
                ex[i][j] = ex[i][j] - SCALAR_VAL(0.5) * (hz[i][j] - hz[i][j - 1]);
        for (i = 0; i < _PB_NX - 1; i++)
            for (j = 0; j < _PB_NY - 1; j++)
                hz[i][j] = hz[i][j] - SCALAR_VAL(0.7) * (ex[i][j + 1] - ex[i][j] +
                                                         ey[i + 1][j] - ey[i][j]);
    }
        }
#line 59 "polybench/polybench/fdtd-2d.c"
    }
}

int main(void)
{
    int tmax = TMAX;
    int nx = NX;
    int ny = NY;
    POLYBENCH_2D_ARRAY_DECL(ex, DATA_TYPE, NX, NY, nx, ny);
    POLYBENCH_2D_ARRAY_DECL(ey, DATA_TYPE, NX, NY, nx, ny);
    POLYBENCH_2D_ARRAY_DECL(hz, DATA_TYPE, NX, NY, nx, ny);
    POLYBENCH_1D_ARRAY_DECL(_fict_, DATA_TYPE, TMAX, tmax);

    init_array(tmax, nx, ny, POLYBENCH_ARRAY(ex), POLYBENCH_ARRAY(ey), POLYBENCH_ARRAY(hz),
               POLYBENCH_ARRAY(_fict_));
    polybench_input("ex", ex, (size_t) nx * ny);
    polybench_input("ey", ey, (size_t) nx * ny);
    polybench_input("hz", hz, (size_t) nx * ny);
    polybench_input("_fict_", _fict_, tmax);

    polybench_start_instruments;
    kernel_fdtd_2d(tmax, nx, ny, POLYBENCH_ARRAY(ex), POLYBENCH_ARRAY(ey), POLYBENCH_ARRAY(hz),
                   POLYBENCH_ARRAY(_fict_));
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("ex", ex, (size_t) nx * ny);
    polybench_output("ey", ey, (size_t) nx * ny);
    polybench_output("hz", hz, (size_t) nx * ny);
    POLYBENCH_FREE_ARRAY(ex);
    POLYBENCH_FREE_ARRAY(ey);
    POLYBENCH_FREE_ARRAY(hz);
    POLYBENCH_FREE_ARRAY(_fict_);
    return 0;
}
