#ifndef POLYTILE_D1_KERNEL_H
#define POLYTILE_D1_KERNEL_H

#ifdef __cplusplus
extern "C" {
#endif

/* classic (fused) schedule
   x: double[n][m], read and written.
   dt: read.
   Returns 0, or 1 after one line on stderr.
   Does nothing and returns 2 in a signal handler that interrupts a function of this kind, in a process that was forked from one that has used CUDA, and, as integers would overflow, unless m <= 2147483585 && n <= 2147483633. */
int polytile_h_scop0(int n, int m, double *x, double dt);

#ifdef __cplusplus
}
#endif

#endif
