#ifndef POLYTILE_JACOBI_1D_KERNEL_H
#define POLYTILE_JACOBI_1D_KERNEL_H

#ifdef __cplusplus
extern "C" {
#endif

/* split schedule
   B: double[2000], read and written.
   A: double[2000], read and written.
   Returns 0, or another number after one line on stderr. */
int polytile_jacobi_1d_scop0(int tsteps, int n, double *B, double *A);

#ifdef __cplusplus
}
#endif

#endif
