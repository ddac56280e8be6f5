/*
 * 2d25pt: every interior element of b is a weighted sum of the 5 x 5 elements of a around it,
 * those at the same distances in both dimensions with the same weight: nine weights.
 */
#include "../stencil.h"

#ifndef NX
#define NX POLYBENCH_SIZE(20, 132, 1028, 8196, 16388)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(22, 140, 1060, 8196, 16388)
#endif

static void kernel_2d25pt(int nx, int ny, DATA_TYPE a[nx][ny], DATA_TYPE b[nx][ny])
{
#pragma scop
    for (int i = 2; i < nx - 2; i++)
        for (int j = 2; j < ny - 2; j++)
            b[i][j] =
                SCALAR_VAL(2.3) * a[i][j] +
                SCALAR_VAL(2.2) * (a[i][j - 1] + a[i][j + 1]) +
                SCALAR_VAL(2.1) * (a[i][j - 2] + a[i][j + 2]) +
                SCALAR_VAL(1.3) * (a[i - 1][j] + a[i + 1][j]) +
                SCALAR_VAL(1.2) *
                    (a[i - 1][j - 1] + a[i - 1][j + 1] + a[i + 1][j - 1] + a[i + 1][j + 1]) +
                SCALAR_VAL(1.1) *
                    (a[i - 1][j - 2] + a[i - 1][j + 2] + a[i + 1][j - 2] + a[i + 1][j + 2]) +
                SCALAR_VAL(0.3) * (a[i - 2][j] + a[i + 2][j]) +
                SCALAR_VAL(0.2) *
                    (a[i - 2][j - 1] + a[i - 2][j + 1] + a[i + 2][j - 1] + a[i + 2][j + 1]) +
                SCALAR_VAL(0.1) *
                    (a[i - 2][j - 2] + a[i - 2][j + 2] + a[i + 2][j - 2] + a[i + 2][j + 2]);
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
    kernel_2d25pt(nx, ny, a, b);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("b", b, (size_t) nx * ny);
    free(a);
    free(b);
    return 0;
}
