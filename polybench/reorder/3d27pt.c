/*
 * 3d27pt: every interior element of b is a weighted sum of the 27 elements of a around it, with
 * one weight for the element itself, one for the faces, one for the edges and one for the corners
 * of the cube around it.
 */
#include "../stencil.h"

#ifndef NX
#define NX POLYBENCH_SIZE(8, 34, 130, 514, 770)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(9, 38, 138, 514, 770)
#endif
#ifndef NZ
#define NZ POLYBENCH_SIZE(10, 42, 146, 514, 770)
#endif

static void kernel_3d27pt(int nx, int ny, int nz, DATA_TYPE a[nx][ny][nz],
                          DATA_TYPE b[nx][ny][nz])
{
#pragma scop
    for (int i = 1; i < nx - 1; i++)
        for (int j = 1; j < ny - 1; j++)
            for (int k = 1; k < nz - 1; k++)
                b[i][j][k] =
                    SCALAR_VAL(0.125) * a[i][j][k] +
                    SCALAR_VAL(1.14) *
                        (a[i - 1][j][k] + a[i + 1][j][k] + a[i][j - 1][k] +
                         a[i][j + 1][k] + a[i][j][k - 1] + a[i][j][k + 1]) +
                    SCALAR_VAL(1.031) *
                        (a[i - 1][j - 1][k] + a[i - 1][j][k - 1] + a[i - 1][j][k + 1] +
                         a[i - 1][j + 1][k] + a[i][j - 1][k - 1] + a[i][j - 1][k + 1] +
                         a[i][j + 1][k - 1] + a[i][j + 1][k + 1] + a[i + 1][j - 1][k] +
                         a[i + 1][j][k - 1] + a[i + 1][j][k + 1] + a[i + 1][j + 1][k]) +
                    SCALAR_VAL(0.75) *
                        (a[i - 1][j - 1][k - 1] + a[i - 1][j - 1][k + 1] + a[i - 1][j + 1][k - 1] +
                         a[i - 1][j + 1][k + 1] + a[i + 1][j - 1][k - 1] + a[i + 1][j - 1][k + 1] +
                         a[i + 1][j + 1][k - 1] + a[i + 1][j + 1][k + 1]);
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
    kernel_3d27pt(nx, ny, nz, a, b);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("b", b, (size_t) nx * ny * nz);
    free(a);
    free(b);
    return 0;
}
