/* depthwise-conv: each of nc channels of nb images by a filter of 3 x 3 of its own. */
#include "tensor.h"

#ifndef NB
#define NB POLYBENCH_SIZE(2, 3, 4, 16, 32)
#endif
#ifndef NC
#define NC POLYBENCH_SIZE(3, 6, 16, 64, 128)
#endif
#ifndef H
#define H POLYBENCH_SIZE(9, 14, 28, 112, 112)
#endif
#ifndef W
#define W POLYBENCH_SIZE(10, 15, 30, 112, 112)
#endif

static void kernel_depthwise_conv(int nb, int nc, int h, int w, DATA_TYPE in[nb][nc][h + 2][w + 2],
                                  DATA_TYPE filter[nc][3][3], DATA_TYPE out[nb][nc][h][w])
{
#pragma scop
    for (int b = 0; b < nb; b++)
        for (int c = 0; c < nc; c++)
            for (int i = 0; i < h; i++)
                for (int j = 0; j < w; j++) {
                    out[b][c][i][j] = 0;
                    for (int r = 0; r < 3; r++)
                        for (int s = 0; s < 3; s++)
                            out[b][c][i][j] += filter[c][r][s] * in[b][c][i + r][j + s];
                }
#pragma endscop
}

int main(void)
{
    int nb = NB;
    int nc = NC;
    int h = H;
    int w = W;
    void *in = tensor_input("in", 1, (size_t) nb * nc * (h + 2) * (w + 2));
    void *filter = tensor_input("filter", 2, (size_t) nc * 3 * 3);
    void *out = tensor_result((size_t) nb * nc * h * w);

    polybench_start_instruments;
    kernel_depthwise_conv(nb, nc, h, w, in, filter, out);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("out", out, (size_t) nb * nc * h * w);
    free(in);
    free(filter);
    free(out);
    return 0;
}
