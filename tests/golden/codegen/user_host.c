#include <stdio.h>

struct point { double x; _Bool flag; double new; };

static double weight(int k) { return 1.0 / (k + 1); }

static void axpy(int n, double z[n], const double *x, const double *y, double a)
{
    int i;
    if (n > 0) {
        { /* user.c:11-14 runs on the GPU, compiled by polytile */
            int polytile_apart = 1;
            const unsigned long long polytile_from_z = (unsigned long long)(double *)z;
            const unsigned long long polytile_to_z = polytile_from_z + 8ull * (n);
            const unsigned long long polytile_from_x = (unsigned long long)(const double *)x;
            const unsigned long long polytile_to_x = polytile_from_x + 8ull * (n);
            const unsigned long long polytile_from_y = (unsigned long long)(const double *)y;
            const unsigned long long polytile_to_y = polytile_from_y + 8ull * (n);
            if (polytile_from_z < polytile_to_x && polytile_from_x < polytile_to_z)
                polytile_apart = 0;
            if (polytile_from_z < polytile_to_y && polytile_from_y < polytile_to_z)
                polytile_apart = 0;
            int polytile_status = 2;
            if (polytile_apart) {
                extern int polytile_axpy(int n, double *z, const double *x, const double *y, double a);
                polytile_status = polytile_axpy(n, (double *)z, (const double *)x, (const double *)y, a);
                if (polytile_status == 1) {
                    extern void exit(int);
                    exit(4);
                }
            }
            if (polytile_status != 0) { /* the sequential C, for arrays that overlap or signal handlers amid kernels, and processes forked after CUDA has run */
#line 12 "folder/user.c"
        for (i = 0; i < n; i++)
            z[i] = x[i] + a * y[i];
            }
#line 14 "folder/user.c"
        }
    }
}

static double total(int n, double *x)
{
    double s = 0, w[10];
    { /* user.c:21-24 runs on the GPU, compiled by polytile */
        extern int polytile_sum(int n, double *s, const double *x);
        const int polytile_status = polytile_sum(n, (double *)&s, (const double *)x);
        if (polytile_status == 1) {
            extern void exit(int);
            exit(4);
        }
        if (polytile_status != 0) { /* the sequential C, for signal handlers amid kernels, and processes forked after CUDA has run */
#line 22 "folder/user.c"
    for (int k = 0; k < 10; k++) w[k] = weight(k);
    for (int i = 0; i < n; i++) s += x[i] * w[0];
        }
#line 24 "folder/user.c"
    }
    return s;
}

static void shift(int n, struct point *p, struct point o)
{
    { /* user.c:30 runs on the GPU, compiled by polytile */
        extern int polytile_structs(int n, void *p, const void *o);
        const int polytile_status = polytile_structs(n, (void *)p, (const void *)&o);
        if (polytile_status == 1) {
            extern void exit(int);
            exit(4);
        }
        if (polytile_status != 0) { /* the sequential C, for signal handlers amid kernels, and processes forked after CUDA has run */
#line 30 "folder/user.c"
    for (int i = 0; i < n; i++) p[i].new += o.x;
        }
#line 30 "folder/user.c"
    }
}

int main(void)
{
    double z[8], x[8] = {1, 2}, y[8] = {3};
    struct point p[2] = {{0, 0, 0}, {0, 0, 0}}, o = {0.5, 0, 0};
    axpy(8, z, x, y, 2.0); shift(2, p, o);
    printf("%g %g line %d\n", total(8, z), p[1].new, __LINE__); return 0;
}
