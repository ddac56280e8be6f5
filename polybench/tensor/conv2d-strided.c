/* conv2d-strided: nf features of nb images of nc channels by filters of 7 x 7, at every second row
 * and column. */
#include "tensor.h"

#ifndef NB
#define NB POLYBENCH_SIZE(2, 2, 4, 16, 64)
#endif
#ifndef NF
#define NF POLYBENCH_SIZE(5, 12, 24, 64, 64)
#endif
#ifndef NC
#define NC POLYBENCH_SIZE(3, 3, 3, 3, 3)
#endif
#ifndef H
#define H POLYBENCH_SIZE(7, 12, 28, 56, 112)
#endif
#ifndef W
#define W POLYBENCH_SIZE(9, 14, 30, 56, 112)
#endif

static void kernel_conv2d_strided(int nb, int nf, int nc, int h, int w,
                                  DATA_TYPE in[nb][nc][2 * h + 5][2 * w + 5],
                                  DATA_TYPE filter[nf][nc][7][7], DATA_TYPE out[nb][nf][h][w])
{
#pragma scop
    for (int b = 0; b < nb; b++)
        for (int f = 0; f < nf; f++)
            for (int i = 0; i < h; i++)
                for (int j = 0; j < w; j++) {
                    out[b][f][i][j] = 0;
                    for (int c = 0; c < nc; c++)
                        for (int r = 0; r < 7; r++)
                            for (int s = 0; s < 7; s++)
                                out[b][f][i][j] +=
                                    filter[f][c][r][s] * in[b][c][2 * i + r][2 * j + s];
                }
#pragma endscop
}

int main(void)
{
    int nb = NB;
    int nf = NF;
    int nc = NC;
    int h = H;
    int w = W;
    void *in = tensor_input("in", 1, (size_t) nb * nc * (2 * h + 5) * (2 * w + 5));
    void *filter = tensor_input("filter", 2, (size_t) nf * nc * 7 * 7);
    void *out = tensor_result((size_t) nb * nf * h * w);

    polybench_start_instruments;
    kernel_conv2d_strided(nb, nf, nc, h, w, in, filter, out);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("out", out, (size_t) nb * nf * h * w);
    free(in);
    free(filter);
    free(out);
    return 0;
}
