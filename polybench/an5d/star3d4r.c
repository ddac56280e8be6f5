/*
 * star3d4r: every interior element becomes a weighted sum of itself and of the elements at a
 * distance of 1 to 4 on the three axes, from one plane of A to the other, in each of the tsteps
 * steps; the four outermost layers of the array stay. All weights but two differ.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(3, 8, 24, 120, 1000)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(14, 40, 136, 520, 520)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(15, 44, 144, 520, 520)
#endif
#ifndef NZ
#define NZ POLYBENCH_SIZE(16, 48, 152, 520, 520)
#endif

static void kernel_star3d4r(int tsteps, int nx, int ny, int nz, DATA_TYPE A[2][nx][ny][nz])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 4; i < nx - 4; i++)
            for (int j = 4; j < ny - 4; j++)
                for (int k = 4; k < nz - 4; k++)
                    A[(t + 1) % 2][i][j][k] =
                        SCALAR_VAL(0.25000) * A[t % 2][i][j][k] +
                        SCALAR_VAL(0.03226) * A[t % 2][i - 4][j][k] +
                        SCALAR_VAL(0.03224) * A[t % 2][i + 4][j][k] +
                        SCALAR_VAL(0.03136) * A[t % 2][i - 3][j][k] +
                        SCALAR_VAL(0.03134) * A[t % 2][i + 3][j][k] +
                        SCALAR_VAL(0.03116) * A[t % 2][i - 2][j][k] +
                        SCALAR_VAL(0.03114) * A[t % 2][i + 2][j][k] +
                        SCALAR_VAL(0.03026) * A[t % 2][i - 1][j][k] +
                        SCALAR_VAL(0.03024) * A[t % 2][i + 1][j][k] +
                        SCALAR_VAL(0.03227) * A[t % 2][i][j - 4][k] +
                        SCALAR_VAL(0.03223) * A[t % 2][i][j + 4][k] +
                        SCALAR_VAL(0.03137) * A[t % 2][i][j - 3][k] +
                        SCALAR_VAL(0.03133) * A[t % 2][i][j + 3][k] +
                        SCALAR_VAL(0.03117) * A[t % 2][i][j - 2][k] +
                        SCALAR_VAL(0.03113) * A[t % 2][i][j + 2][k] +
                        SCALAR_VAL(0.03027) * A[t % 2][i][j - 1][k] +
                        SCALAR_VAL(0.03023) * A[t % 2][i][j + 1][k] +
                        SCALAR_VAL(0.03228) * A[t % 2][i][j][k - 4] +
                        SCALAR_VAL(0.03222) * A[t % 2][i][j][k + 4] +
                        SCALAR_VAL(0.03138) * A[t % 2][i][j][k - 3] +
                        SCALAR_VAL(0.03132) * A[t % 2][i][j][k + 3] +
                        SCALAR_VAL(0.03118) * A[t % 2][i][j][k - 2] +
                        SCALAR_VAL(0.03112) * A[t % 2][i][j][k + 2] +
                        SCALAR_VAL(0.03027) * A[t % 2][i][j][k - 1] +
                        SCALAR_VAL(0.03022) * A[t % 2][i][j][k + 1];
#pragma endscop
}

int main(void)
{
    int tsteps = TSTEPS;
    int nx = NX;
    int ny = NY;
    int nz = NZ;
    DATA_TYPE(*A)[POLYBENCH_EXTENT(nx)][POLYBENCH_EXTENT(ny)][POLYBENCH_EXTENT(nz)] =
        polybench_alloc_data(2, sizeof *A);

    stencil_init_planes(A, 1, nx, ny, nz);
    polybench_input("A", A, 2 * (size_t) nx * ny * nz);

    polybench_start_instruments;
    kernel_star3d4r(tsteps, nx, ny, nz, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 2 * (size_t) nx * ny * nz);
    free(A);
    return 0;
}
