/*
 * red-black-2d: in each of the tsteps steps the interior elements with an even sum of indices,
 * and then those with an odd one, become a mean of themselves and their four neighbours, in
 * place (Gauss-Seidel in the order of a chessboard); the border stays.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(4, 20, 100, 500, 1000)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(24, 128, 1024, 4096, 8192)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(26, 136, 1056, 4096, 8192)
#endif

static void kernel_red_black_2d(int tsteps, int nx, int ny, DATA_TYPE A[nx][ny])
{
#pragma scop
    for (int t = 0; t < tsteps; t++) {
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
                if ((i + j) % 2 == 0)
                    A[i][j] = SCALAR_VAL(0.2) * (A[i][j] + A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1]);
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
                if ((i + j) % 2 == 1)
                    A[i][j] = SCALAR_VAL(0.2) * (A[i][j] + A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1]);
    }
#pragma endscop
}

int main(void)
{
    int tsteps = TSTEPS;
    int nx = NX;
    int ny = NY;
    DATA_TYPE(*A)[POLYBENCH_EXTENT(ny)] = polybench_alloc_data(nx, sizeof *A);

    stencil_init(A, 1, 1.0, nx, ny, 1);
    polybench_input("A", A, (size_t) nx * ny);

    polybench_start_instruments;
    kernel_red_black_2d(tsteps, nx, ny, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, (size_t) nx * ny);
    free(A);
    return 0;
}
