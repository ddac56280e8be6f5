/* conv2d-channels: a layer of a network: each of nf features of each of nb images is the sum over
 * nc channels of correlations with filters of 3 x 3, and a bias. */
#include "tensor.h"

#ifndef NB
#define NB POLYBENCH_SIZE(2, 2, 4, 8, 16)
#endif
#ifndef NF
#define NF POLYBENCH_SIZE(5, 12, 24, 64, 96)
#endif
#ifndef NC
#define NC POLYBENCH_SIZE(3, 10, 20, 48, 64)
#endif
#ifndef H
#define H POLYBENCH_SIZE(9, 14, 28, 56, 112)
#endif
#ifndef W
#define W POLYBENCH_SIZE(10, 15, 30, 56, 112)
#endif

static void kernel_conv2d_channels(int nb, int nf, int nc, int h, int w,
                                   DATA_TYPE in[nb][nc][h + 2][w + 2],
                                   DATA_TYPE filter[nf][nc][3][3], DATA_TYPE bias[nf],
                                   DATA_TYPE out[nb][nf][h][w])
{
#pragma scop
    for (int b = 0; b < nb; b++)
        for (int f = 0; f < nf; f++)
            for (int i = 0; i < h; i++)
                for (int j = 0; j < w; j++) {
                    out[b][f][i][j] = bias[f];
                    for (int c = 0; c < nc; c++)
                        for (int r = 0; r < 3; r++)
                            for (int s = 0; s < 3; s++)
                                out[b][f][i][j] += filter[f][c][r][s] * in[b][c][i + r][j + s];
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
    void *in = tensor_input("in", 1, (size_t) nb * nc * (h + 2) * (w + 2));
    void *filter = tensor_input("filter", 2, (size_t) nf * nc * 3 * 3);
    void *bias = tensor_input("bias", 3, (size_t) nf);
    void *out = tensor_result((size_t) nb * nf * h * w);

    polybench_start_instruments;
    kernel_conv2d_channels(nb, nf, nc, h, w, in, filter, bias, out);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("out", out, (size_t) nb * nf * h * w);
    free(in);
    free(filter);
    free(bias);
    free(out);
    return 0;
}
