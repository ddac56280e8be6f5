#ifndef POLYTILE_FDTD_2D_KERNEL_H
#define POLYTILE_FDTD_2D_KERNEL_H

#ifdef __cplusplus
extern "C" {
#endif

/* split schedule
   ey: double[nx][ny], read and written.
   _fict_: double[tmax], read.
   hz: double[nx][ny], read and written.
   ex: double[nx][ny], read and written.
   Returns 0, or another number after one line on stderr. */
int polytile_kernel_fdtd_2d_scop0(int tmax, int ny, int nx, double *ey, const double *polytile__fict_,
        double *hz, double *ex);

#ifdef __cplusplus
}
#endif

#endif
