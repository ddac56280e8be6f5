/*
 * 2d64pt: a mixed second derivative: every interior element of b is the sum of d(p) * d(q) *
 * a[i+p][j+q] for p, q = -4 ... 4 with the antisymmetric d(1) = 0.8, d(2) = -0.2, d(3) = 0.0381,
 * d(4) = -0.00357: 64 elements, of which those with the same |p| and |q|, in either order, share a
 * weight up to its sign.
 */
#include "../stencil.h"

#ifndef NX
#define NX POLYBENCH_SIZE(24, 136, 1032, 8200, 16392)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(26, 144, 1064, 8200, 16392)
#endif

static void kernel_2d64pt(int nx, int ny, DATA_TYPE a[nx][ny], DATA_TYPE b[nx][ny])
{
#pragma scop
    for (int i = 4; i < nx - 4; i++)
        for (int j = 4; j < ny - 4; j++)
            b[i][j] =
                SCALAR_VAL(0.64) *
                    (a[i - 1][j - 1] - a[i - 1][j + 1] - a[i + 1][j - 1] + a[i + 1][j + 1]) -
                SCALAR_VAL(0.16) *
                    (a[i - 2][j - 1] - a[i - 2][j + 1] + a[i - 1][j - 2] - a[i - 1][j + 2] -
                     a[i + 1][j - 2] + a[i + 1][j + 2] - a[i + 2][j - 1] + a[i + 2][j + 1]) +
                SCALAR_VAL(0.03048) *
                    (a[i - 3][j - 1] - a[i - 3][j + 1] + a[i - 1][j - 3] - a[i - 1][j + 3] -
                     a[i + 1][j - 3] + a[i + 1][j + 3] - a[i + 3][j - 1] + a[i + 3][j + 1]) -
                SCALAR_VAL(0.002856) *
                    (a[i - 4][j - 1] - a[i - 4][j + 1] + a[i - 1][j - 4] - a[i - 1][j + 4] -
                     a[i + 1][j - 4] + a[i + 1][j + 4] - a[i + 4][j - 1] + a[i + 4][j + 1]) +
                SCALAR_VAL(0.04) *
                    (a[i - 2][j - 2] - a[i - 2][j + 2] - a[i + 2][j - 2] + a[i + 2][j + 2]) -
                SCALAR_VAL(0.00762) *
                    (a[i - 3][j - 2] - a[i - 3][j + 2] + a[i - 2][j - 3] - a[i - 2][j + 3] -
                     a[i + 2][j - 3] + a[i + 2][j + 3] - a[i + 3][j - 2] + a[i + 3][j + 2]) +
                SCALAR_VAL(0.000714) *
                    (a[i - 4][j - 2] - a[i - 4][j + 2] + a[i - 2][j - 4] - a[i - 2][j + 4] -
                     a[i + 2][j - 4] + a[i + 2][j + 4] - a[i + 4][j - 2] + a[i + 4][j + 2]) +
                SCALAR_VAL(0.00145161) *
                    (a[i - 3][j - 3] - a[i - 3][j + 3] - a[i + 3][j - 3] + a[i + 3][j + 3]) -
                SCALAR_VAL(0.000136017) *
                    (a[i - 4][j - 3] - a[i - 4][j + 3] + a[i - 3][j - 4] - a[i - 3][j + 4] -
                     a[i + 3][j - 4] + a[i + 3][j + 4] - a[i + 4][j - 3] + a[i + 4][j + 3]) +
                SCALAR_VAL(0.0000127449) *
                    (a[i - 4][j - 4] - a[i - 4][j + 4] - a[i + 4][j - 4] + a[i + 4][j + 4]);
#pragma endscop
}

int main(void)
{
    int nx = NX;
    int ny = NY;
    DATA_TYPE(*a)[POLYBENCH_EXTENT(ny)] = polybench_alloc_data(POLYBENCH_EXTENT(nx), sizeof *a);
    DATA_TYPE(*b)[POLYBENCH_EXTENT(ny)] = polybench_alloc_data(POLYBENCH_EXTENT(nx), sizeof *b);

    stencil_init(a, 1, 1.0, nx, ny, 1);
    memcpy(b, a, (size_t) nx * ny * sizeof(DATA_TYPE));
    polybench_input("a", a, (size_t) nx * ny);
    polybench_input("b", b, (size_t) nx * ny);

    polybench_start_instruments;
    kernel_2d64pt(nx, ny, a, b);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("b", b, (size_t) nx * ny);
    free(a);
    free(b);
    return 0;
}
