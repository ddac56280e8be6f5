/*
 * box3d2r: every interior element becomes a weighted sum of the 5 x 5 x 5 elements around it, from
 * one plane of A to the other, in each of the tsteps steps; the two outermost layers of the array
 * stay. All weights differ; values grow by a factor of up to 3.7 in each step.
 */
#include "../stencil.h"

#ifndef TSTEPS
#define TSTEPS POLYBENCH_SIZE(3, 8, 24, 30, 60)
#endif
#ifndef NX
#define NX POLYBENCH_SIZE(10, 36, 132, 516, 516)
#endif
#ifndef NY
#define NY POLYBENCH_SIZE(11, 40, 140, 516, 516)
#endif
#ifndef NZ
#define NZ POLYBENCH_SIZE(12, 44, 148, 516, 516)
#endif

static void kernel_box3d2r(int tsteps, int nx, int ny, int nz, DATA_TYPE A[2][nx][ny][nz])
{
#pragma scop
    for (int t = 0; t < tsteps; t++)
        for (int i = 2; i < nx - 2; i++)
            for (int j = 2; j < ny - 2; j++)
                for (int k = 2; k < nz - 2; k++)
                    A[(t + 1) % 2][i][j][k] =
                        STENCIL_ROW_5(A[t % 2][i - 2][j - 2], k, 0.0020, 0.0030, 0.0040, 0.0050, 0.0060) +
                        STENCIL_ROW_5(A[t % 2][i - 2][j - 1], k, 0.0070, 0.0080, 0.0090, 0.0100, 0.0110) +
                        STENCIL_ROW_5(A[t % 2][i - 2][j], k, 0.0120, 0.0130, -0.3240, 0.0140, 0.0150) +
                        STENCIL_ROW_5(A[t % 2][i - 2][j + 1], k, 0.0160, 0.0170, 0.0180, 0.0190, 0.0200) +
                        STENCIL_ROW_5(A[t % 2][i - 2][j + 2], k, 0.0210, 0.0220, 0.0230, 0.0240, 0.0250) +
                        STENCIL_ROW_5(A[t % 2][i - 1][j - 2], k, 0.0021, 0.0031, 0.0041, 0.0051, 0.0061) +
                        STENCIL_ROW_5(A[t % 2][i - 1][j - 1], k, 0.0071, 0.0081, 0.0091, 0.0101, 0.0111) +
                        STENCIL_ROW_5(A[t % 2][i - 1][j], k, 0.0121, 0.0131, -0.3264, 0.0141, 0.0151) +
                        STENCIL_ROW_5(A[t % 2][i - 1][j + 1], k, 0.0161, 0.0171, 0.0181, 0.0191, 0.0201) +
                        STENCIL_ROW_5(A[t % 2][i - 1][j + 2], k, 0.0211, 0.0221, 0.0231, 0.0241, 0.0251) +
                        STENCIL_ROW_5(A[t % 2][i][j - 2], k, 0.0022, 0.0032, 0.0042, 0.0052, 0.0062) +
                        STENCIL_ROW_5(A[t % 2][i][j - 1], k, 0.0072, 0.0082, 0.0092, 0.0102, 0.0112) +
                        STENCIL_ROW_5(A[t % 2][i][j], k, 0.0122, 0.0132, 0.6712, 0.0142, 0.0152) +
                        STENCIL_ROW_5(A[t % 2][i][j + 1], k, 0.0162, 0.0172, 0.0182, 0.0192, 0.0202) +
                        STENCIL_ROW_5(A[t % 2][i][j + 2], k, 0.0212, 0.0222, 0.0232, 0.0242, 0.0252) +
                        STENCIL_ROW_5(A[t % 2][i + 1][j - 2], k, 0.0023, 0.0033, 0.0043, 0.0053, 0.0063) +
                        STENCIL_ROW_5(A[t % 2][i + 1][j - 1], k, 0.0073, 0.0083, 0.0093, 0.0103, 0.0113) +
                        STENCIL_ROW_5(A[t % 2][i + 1][j], k, 0.0123, 0.0133, -0.3312, 0.0143, 0.0153) +
                        STENCIL_ROW_5(A[t % 2][i + 1][j + 1], k, 0.0163, 0.0173, 0.0183, 0.0193, 0.0203) +
                        STENCIL_ROW_5(A[t % 2][i + 1][j + 2], k, 0.0213, 0.0223, 0.0233, 0.0243, 0.0253) +
                        STENCIL_ROW_5(A[t % 2][i + 2][j - 2], k, 0.0024, 0.0034, 0.0044, 0.0054, 0.0064) +
                        STENCIL_ROW_5(A[t % 2][i + 2][j - 1], k, 0.0074, 0.0084, 0.0094, 0.0104, 0.0114) +
                        STENCIL_ROW_5(A[t % 2][i + 2][j], k, 0.0124, 0.0134, -0.3336, 0.0144, 0.0154) +
                        STENCIL_ROW_5(A[t % 2][i + 2][j + 1], k, 0.0164, 0.0174, 0.0184, 0.0194, 0.0204) +
                        STENCIL_ROW_5(A[t % 2][i + 2][j + 2], k, 0.0214, 0.0224, 0.0234, 0.0244, 0.0254);
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
    kernel_box3d2r(tsteps, nx, ny, nz, A);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("A", A, 2 * (size_t) nx * ny * nz);
    free(A);
    return 0;
}
