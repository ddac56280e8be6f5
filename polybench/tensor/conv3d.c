/* conv3d: nf features of a volume of nc channels, by filters of 3 x 3 x 3. */
#include "tensor.h"

#ifndef NF
#define NF POLYBENCH_SIZE(5, 8, 16, 48, 64)
#endif
#ifndef NC
#define NC POLYBENCH_SIZE(3, 6, 12, 24, 32)
#endif
#ifndef ND
#define ND POLYBENCH_SIZE(6, 10, 20, 32, 64)
#endif
#ifndef H
#define H POLYBENCH_SIZE(7, 11, 22, 40, 64)
#endif
#ifndef W
#define W POLYBENCH_SIZE(9, 12, 24, 48, 64)
#endif

static void kernel_conv3d(int nf, int nc, int nd, int h, int w,
                          DATA_TYPE in[nc][nd + 2][h + 2][w + 2],
                          DATA_TYPE filter[nf][nc][3][3][3], DATA_TYPE out[nf][nd][h][w])
{
#pragma scop
    for (int f = 0; f < nf; f++)
        for (int d = 0; d < nd; d++)
            for (int i = 0; i < h; i++)
                for (int j = 0; j < w; j++) {
                    out[f][d][i][j] = 0;
                    for (int c = 0; c < nc; c++)
                        for (int q = 0; q < 3; q++)
                            for (int r = 0; r < 3; r++)
                                for (int s = 0; s < 3; s++)
                                    out[f][d][i][j] +=
                                        filter[f][c][q][r][s] * in[c][d + q][i + r][j + s];
                }
#pragma endscop
}

int main(void)
{
    int nf = NF;
    int nc = NC;
    int nd = ND;
    int h = H;
    int w = W;
    void *in = tensor_input("in", 1, (size_t) nc * (nd + 2) * (h + 2) * (w + 2));
    void *filter = tensor_input("filter", 2, (size_t) nf * nc * 3 * 3 * 3);
    void *out = tensor_result((size_t) nf * nd * h * w);

    polybench_start_instruments;
    kernel_conv3d(nf, nc, nd, h, w, in, filter, out);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("out", out, (size_t) nf * nd * h * w);
    free(in);
    free(filter);
    free(out);
    return 0;
}
