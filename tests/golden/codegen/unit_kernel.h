#ifndef UNIT_KERNEL_H
#define UNIT_KERNEL_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* axpy.c:5-8: classic schedule, one kernel
   z: double[n], written.
   x: double[n], read.
   y: double[n], read.
   a: read.
   Returns 0, or 1 after one line on stderr.
   Does nothing and returns 2 in a signal handler that interrupts a function of this kind, in a process that was forked from one that has used CUDA. */
int polytile_axpy(int n, double *z, const double *x, const double *y, double a);

/* jacobi.c:2-9: classic schedule, the time loop runs on the host
   A: double[n][m], read and written.
   Returns 0, or 1 after one line on stderr.
   Does nothing and returns 2 in a signal handler that interrupts a function of this kind, in a process that was forked from one that has used CUDA. */
int polytile_jacobi(int t, int n, int m, double *A);

/* s: double, one element, read and written.
   x: double[n], read.
   Returns 0, or 1 after one line on stderr.
   Does nothing and returns 2 in a signal handler that interrupts a function of this kind, in a process that was forked from one that has used CUDA. */
int polytile_sum(int n, double *s, const double *x);

/* s: double, one element, read and written.
   x: double[n], read.
   Returns 0, or 1 after one line on stderr.
   Does nothing and returns 2 in a signal handler that interrupts a function of this kind, in a process that was forked from one that has used CUDA. */
int polytile_dynamic_sum(int n, double *s, const double *x);

/* p: struct point[n], read and written.
   o: read, a pointer to one struct.
   Returns 0, or 1 after one line on stderr.
   Does nothing and returns 2 in a signal handler that interrupts a function of this kind, in a process that was forked from one that has used CUDA. */
int polytile_structs(int n, void *p, const void *o);

/* new: float[n], written.
   x: float[n], read.
   Returns 0, or 1 after one line on stderr.
   Does nothing and returns 2 in a signal handler that interrupts a function of this kind, in a process that was forked from one that has used CUDA. */
int polytile_float_math(int n, float *polytile_new, const float *x);

/* c: long, one element, read and written.
   x: double[n], read.
   on: read.
   Returns 0, or 1 after one line on stderr.
   Does nothing and returns 2 in a signal handler that interrupts a function of this kind, in a process that was forked from one that has used CUDA. */
int polytile_count(long n, long *c, const double *x, bool on);

/* x: double[], read and written.
   Returns 0, or 1 after one line on stderr.
   Does nothing and returns 2 in a signal handler that interrupts a function of this kind, in a process that was forked from one that has used CUDA. */
int polytile_window(int n, double *x);

#ifdef __cplusplus
}
#endif

#endif
