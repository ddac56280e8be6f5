/*
 * copy-back-9pt: in each of the tsteps steps every interior element of B becomes the mean of the
 * nine elements of A around it, and the interior of B is copied back to A; the border stays.
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

static void kernel_copy_back_9pt(int tsteps, int nx, int ny, DATA_TYPE A[nx][ny], DATA_TYPE B[nx][ny])
{
#pragma scop
    for (int t = 0; t < tsteps; t++) {
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
                B[i][j] = (SCALAR_VAL(1.0) / SCALAR_VAL(9.0)) *
                          (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1] + A[i][j - 1] + A[i][j] +
                           A[i][j + 1] + A[i + 1][j - 1] + A[i + 1][j] + A[i + 1][j + 1]);
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
                A[i][j] = B[i][j];
    }
#pragma endscop
}

int main(void)
{
    int tsteps = TSTEPS;
    int nx = NX;
    int ny = NY;
    DATA_TYPE(*A)[POLYBENCH_EXTENT(ny)] = polybench_alloc_data(nx, sizeof *A);
    DATA_TYPE(*B)[POLYBENCH_EXTENT(ny)] = polybench_alloc_data(nx, sizeof *B);

    stencil_init(A, 1, 1.0, nx, ny, 1);
    stencil_init(B, 2, 1.0, nx, ny, 1);
    polybench_input("A", A, (size_t) nx * ny);
    polybench_input("B", B, (size_t) nx * ny);

    polybench_start_instruments;
    kernel_copy_back_9pt(tsteps, nx, ny, A, B);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, (size_t) nx * ny);
    polybench_output("B", B, (size_t) nx * ny);
    free(A);
    free(B);
    return 0;
}
