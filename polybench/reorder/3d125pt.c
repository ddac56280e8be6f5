/*
 * 3d125pt: every interior element of b is a weighted sum of the 5 x 5 x 5 elements of a around it,
 * with five weights in all; a weight depends on the distance in i and on those in j and k, in
 * either order.
 */
#include "../stencil.h"

#ifndef NX
#define NX POLYBENCH_SIZE(10, 36, 132, 516, 772)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(11, 40, 140, 516, 772)
#endif
#ifndef NZ
#define NZ POLYBENCH_SIZE(12, 44, 148, 516, 772)
#endif

static void kernel_3d125pt(int nx, int ny, int nz, DATA_TYPE a[nx][ny][nz],
                           DATA_TYPE b[nx][ny][nz])
{
#pragma scop
    for (int i = 2; i < nx - 2; i++)
        for (int j = 2; j < ny - 2; j++)
            for (int k = 2; k < nz - 2; k++)
                b[i][j][k] =
                    SCALAR_VAL(2.13) *
                        (a[i - 2][j - 1][k] + a[i - 2][j][k - 1] + a[i - 2][j][k + 1] +
                         a[i - 2][j + 1][k] + a[i - 1][j - 2][k] + a[i - 1][j][k - 2] +
                         a[i - 1][j][k + 2] + a[i - 1][j + 2][k] + a[i][j - 2][k - 1] +
                         a[i][j - 2][k + 1] + a[i][j - 1][k - 2] + a[i][j - 1][k + 2] +
                         a[i][j][k] + a[i][j + 1][k - 2] + a[i][j + 1][k + 2] +
                         a[i][j + 2][k - 1] + a[i][j + 2][k + 1] + a[i + 1][j - 2][k] +
                         a[i + 1][j][k - 2] + a[i + 1][j][k + 2] + a[i + 1][j + 2][k] +
                         a[i + 2][j - 1][k] + a[i + 2][j][k - 1] + a[i + 2][j][k + 1] +
                         a[i + 2][j + 1][k]) +
                    SCALAR_VAL(0.331) *
                        (a[i - 2][j - 1][k - 1] + a[i - 2][j - 1][k + 1] + a[i - 2][j + 1][k - 1] +
                         a[i - 2][j + 1][k + 1] + a[i - 1][j - 2][k - 1] + a[i - 1][j - 2][k + 1] +
                         a[i - 1][j - 1][k - 2] + a[i - 1][j - 1][k + 2] + a[i - 1][j][k] +
                         a[i - 1][j + 1][k - 2] + a[i - 1][j + 1][k + 2] + a[i - 1][j + 2][k - 1] +
                         a[i - 1][j + 2][k + 1] + a[i][j - 1][k - 1] + a[i][j - 1][k + 1] +
                         a[i][j + 1][k - 1] + a[i][j + 1][k + 1] + a[i + 1][j - 2][k - 1] +
                         a[i + 1][j - 2][k + 1] + a[i + 1][j - 1][k - 2] + a[i + 1][j - 1][k + 2] +
                         a[i + 1][j][k] + a[i + 1][j + 1][k - 2] + a[i + 1][j + 1][k + 2] +
                         a[i + 1][j + 2][k - 1] + a[i + 1][j + 2][k + 1] + a[i + 2][j - 1][k - 1] +
                         a[i + 2][j - 1][k + 1] + a[i + 2][j + 1][k - 1] + a[i + 2][j + 1][k + 1]) +
                    SCALAR_VAL(1.132) *
                        (a[i - 2][j - 2][k - 1] + a[i - 2][j - 2][k + 1] + a[i - 2][j - 1][k - 2] +
                         a[i - 2][j - 1][k + 2] + a[i - 2][j][k] + a[i - 2][j + 1][k - 2] +
                         a[i - 2][j + 1][k + 2] + a[i - 2][j + 2][k - 1] + a[i - 2][j + 2][k + 1] +
                         a[i - 1][j - 2][k - 2] + a[i - 1][j - 2][k + 2] + a[i - 1][j + 2][k - 2] +
                         a[i - 1][j + 2][k + 2] + a[i][j - 2][k] + a[i][j][k - 2] +
                         a[i][j][k + 2] + a[i][j + 2][k] + a[i + 1][j - 2][k - 2] +
                         a[i + 1][j - 2][k + 2] + a[i + 1][j + 2][k - 2] + a[i + 1][j + 2][k + 2] +
                         a[i + 2][j - 2][k - 1] + a[i + 2][j - 2][k + 1] + a[i + 2][j - 1][k - 2] +
                         a[i + 2][j - 1][k + 2] + a[i + 2][j][k] + a[i + 2][j + 1][k - 2] +
                         a[i + 2][j + 1][k + 2] + a[i + 2][j + 2][k - 1] + a[i + 2][j + 2][k + 1]) +
                    SCALAR_VAL(0.75) *
                        (a[i - 2][j - 2][k - 2] + a[i - 2][j - 2][k + 2] + a[i - 2][j + 2][k - 2] +
                         a[i - 2][j + 2][k + 2] + a[i - 1][j - 1][k - 1] + a[i - 1][j - 1][k + 1] +
                         a[i - 1][j + 1][k - 1] + a[i - 1][j + 1][k + 1] + a[i][j - 1][k] +
                         a[i][j][k - 1] + a[i][j][k + 1] + a[i][j + 1][k] +
                         a[i + 1][j - 1][k - 1] + a[i + 1][j - 1][k + 1] + a[i + 1][j + 1][k - 1] +
                         a[i + 1][j + 1][k + 1] + a[i + 2][j - 2][k - 2] + a[i + 2][j - 2][k + 2] +
                         a[i + 2][j + 2][k - 2] + a[i + 2][j + 2][k + 2]) +
                    SCALAR_VAL(0.217) *
                        (a[i - 2][j - 2][k] + a[i - 2][j][k - 2] + a[i - 2][j][k + 2] +
                         a[i - 2][j + 2][k] + a[i - 1][j - 1][k] + a[i - 1][j][k - 1] +
                         a[i - 1][j][k + 1] + a[i - 1][j + 1][k] + a[i][j - 2][k - 2] +
                         a[i][j - 2][k + 2] + a[i][j + 2][k - 2] + a[i][j + 2][k + 2] +
                         a[i + 1][j - 1][k] + a[i + 1][j][k - 1] + a[i + 1][j][k + 1] +
                         a[i + 1][j + 1][k] + a[i + 2][j - 2][k] + a[i + 2][j][k - 2] +
                         a[i + 2][j][k + 2] + a[i + 2][j + 2][k]);
#pragma endscop
}

int main(void)
{
    int nx = NX;
    int ny = NY;
    int nz = NZ;
    DATA_TYPE(*a)[POLYBENCH_EXTENT(ny)][POLYBENCH_EXTENT(nz)] = polybench_alloc_data(POLYBENCH_EXTENT(nx), sizeof *a);
    DATA_TYPE(*b)[POLYBENCH_EXTENT(ny)][POLYBENCH_EXTENT(nz)] = polybench_alloc_data(POLYBENCH_EXTENT(nx), sizeof *b);

    stencil_init(a, 1, 1.0, nx, ny, nz);
    memcpy(b, a, (size_t) nx * ny * nz * sizeof(DATA_TYPE));
    polybench_input("a", a, (size_t) nx * ny * nz);
    polybench_input("b", b, (size_t) nx * ny * nz);

    polybench_start_instruments;
    kernel_3d125pt(nx, ny, nz, a, b);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("b", b, (size_t) nx * ny * nz);
    free(a);
    free(b);
    return 0;
}
