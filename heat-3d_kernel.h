#ifndef POLYTILE_HEAT_3D_KERNEL_H
#define POLYTILE_HEAT_3D_KERNEL_H

#ifdef __cplusplus
extern "C" {
#endif

/* split schedule
   B: double[n][n][n], read and written.
   A: double[n][n][n], read and written.
   Returns 0, or another number after one line on stderr. */
int polytile_kernel_heat_3d_scop0(int tsteps, int n, double *B, double *A);

#ifdef __cplusplus
}
#endif

#endif
