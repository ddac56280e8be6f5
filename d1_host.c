#include <math.h>
void f(int n, double x[n]) {
#pragma scop
double t = 0; for (int i = 0; i < n; i++) { t = t + 0.5; x[i] = t * x[i]; }
#pragma endscop
}
void g(int n, double x[n], double dt) {
#pragma scop
double t = 0; for (int i = 0; i < n; i++) { x[i] = sin(t) * exp(-t) + x[i]; t += dt; }
#pragma endscop
}
void h(int n, int m, double x[n][m], double dt) {
{ /* d1.c:13-15 runs on the GPU, compiled by polytile */
    extern int polytile_h_scop0(int n, int m, double *x, double dt);
    const int polytile_status = polytile_h_scop0(n, m, (double *)x, dt);
    if (polytile_status == 1) {
        extern void exit(int);
        exit(4);
    }
    if (polytile_status != 0) { /* the sequential C, for sizes beyond those of the kernels or signal handlers amid kernels, and processes forked after CUDA has run */
#line 14 "/work/tmp/kinds/d1.c"
double t = 0; for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) x[i][j] = sin(t) * x[i][j]; t += dt; }
    }
#line 15 "/work/tmp/kinds/d1.c"
}
}
