/*
 * mri-q: the matrix Q of a reconstruction method for magnetic resonance images. With the angle
 * e(i, s) := 2 pi (kx_s x_i + ky_s y_i + kz_s z_i), the numk samples add phi_s cos e(i, s) to the
 * real part Qr_i and phi_s sin e(i, s) to the imaginary part Qi_i of the numx voxels.
 *
 * The arrays are linear and share no memory.
 */
#include "../polybench/polybench.h"

#ifndef NUMX
#define NUMX POLYBENCH_SIZE(64, 512, 4096, 32768, 262144)
#endif
#ifndef NUMK
#define NUMK POLYBENCH_SIZE(24, 96, 512, 3072, 2048)
#endif

#if POLYBENCH_TYPE_NUMBER(DATA_TYPE) == POLYBENCH_IS_float
#define COS_FUN(x) cosf(x)
#define SIN_FUN(x) sinf(x)
#else
#define COS_FUN(x) cos(x)
#define SIN_FUN(x) sin(x)
#endif

#define TWO_PI SCALAR_VAL(6.283185307179586)

static void compute_q(int numx, int numk, const DATA_TYPE *restrict kx,
                      const DATA_TYPE *restrict ky, const DATA_TYPE *restrict kz,
                      const DATA_TYPE *restrict phi, const DATA_TYPE *restrict x,
                      const DATA_TYPE *restrict y, const DATA_TYPE *restrict z,
                      DATA_TYPE *restrict Qr, DATA_TYPE *restrict Qi)
{
#pragma scop
    for (int s = 0; s < numk; s++)
        for (int i = 0; i < numx; i++) {
            DATA_TYPE angle = TWO_PI * (kx[s] * x[i] + ky[s] * y[i] + kz[s] * z[i]);

            Qr[i] += phi[s] * COS_FUN(angle);
            Qi[i] += phi[s] * SIN_FUN(angle);
        }
#pragma endscop
}

/* Values in (-0.5, 0.5), so that the angles stay within one and a half turns. */
static DATA_TYPE *new_vector(int n, int array, const char *name)
{
    DATA_TYPE *values = polybench_alloc_data(n, sizeof *values);

    for (int i = 0; i < n; i++)
        values[i] = (DATA_TYPE) (polybench_random(array, i, 0, 0) - 0.5);
    polybench_input(name, values, n);
    return values;
}

int main(void)
{
    int numx = NUMX;
    int numk = NUMK;
    DATA_TYPE *kx = new_vector(numk, 1, "kx");
    DATA_TYPE *ky = new_vector(numk, 2, "ky");
    DATA_TYPE *kz = new_vector(numk, 3, "kz");
    DATA_TYPE *phi = new_vector(numk, 4, "phi");
    DATA_TYPE *x = new_vector(numx, 5, "x");
    DATA_TYPE *y = new_vector(numx, 6, "y");
    DATA_TYPE *z = new_vector(numx, 7, "z");
    DATA_TYPE *Qr = new_vector(numx, 8, "Qr");
    DATA_TYPE *Qi = new_vector(numx, 9, "Qi");

    polybench_start_instruments;
    compute_q(numx, numk, kx, ky, kz, phi, x, y, z, Qr, Qi);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("Qr", Qr, numx);
    polybench_output("Qi", Qi, numx);
    free(kx);
    free(ky);
    free(kz);
    free(phi);
    free(x);
    free(y);
    free(z);
    free(Qr);
    free(Qi);
    return 0;
}
