/*
 * gradient: every interior element of an nx x ny array grows by the reciprocal length of the
 * differences to its four neighbours, in tsteps steps from one plane of A to the other; the border
 * stays.
 */
#include "../stencil-io.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(3, 4, 4, 4, 16)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(24, 128, 1024, 8192, 16384)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(26, 136, 1056, 8192, 16384)
#endif

static void gradient(int tsteps, int nx, int ny, DATA_TYPE A[2][nx][ny])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++) {
                DATA_TYPE north = A[t % 2][i][j] - A[t % 2][i - 1][j];
                DATA_TYPE south = A[t % 2][i][j] - A[t % 2][i + 1][j];
                DATA_TYPE west = A[t % 2][i][j] - A[t % 2][i][j - 1];
                DATA_TYPE east = A[t % 2][i][j] - A[t % 2][i][j + 1];
                A[(t + 1) % 2][i][j] =
                    A[t % 2][i][j] + SCALAR_VAL(1.0) / SQRT_FUN(SCALAR_VAL(0.0001) + north * north +
                                                                south * south + east * east +
                                                                west * west);
            }
#pragma endscop
}

int main(void)
{
    int tsteps = TSTEPS;
    int nx = NX;
    int ny = NY;
    DATA_TYPE(*A)[POLYBENCH_EXTENT(nx)][POLYBENCH_EXTENT(ny)] = stencil_planes("A", 1, nx, ny, 1);

    polybench_start_instruments;
    gradient(tsteps, nx, ny, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 2 * (size_t) nx * ny);
    free(A);
    return 0;
}
