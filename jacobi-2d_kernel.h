#ifndef POLYTILE_JACOBI_2D_KERNEL_H
#define POLYTILE_JACOBI_2D_KERNEL_H

#ifdef __cplusplus
extern "C" {
#endif

/* split schedule
   B: double[][n], read and written.
   A: double[][n], read and written.
   Returns 0, or another number after one line on stderr. */
int polytile_jacobi_2d_scop0(int tsteps, int n, double *B, double *A);

#ifdef __cplusplus
}
#endif

#endif
