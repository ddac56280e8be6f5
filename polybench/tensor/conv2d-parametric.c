/* conv2d-parametric: nf features of an image of nc channels, by filters whose size kh x kw is only
 * known when the program runs. The image has a row and a column more than are read, so that no
 * extent is ever negative. */
#include "tensor.h"

#ifndef NF
#define NF POLYBENCH_SIZE(5, 12, 24, 128, 256)
#endif
#ifndef NC
#define NC POLYBENCH_SIZE(4, 10, 20, 64, 128)
#endif
#ifndef H
#define H POLYBENCH_SIZE(11, 14, 40, 64, 128)
#endif
#ifndef W
#define W POLYBENCH_SIZE(12, 15, 44, 64, 128)
#endif
#ifndef KH
#define KH POLYBENCH_SIZE(3, 5, 5, 5, 5)
#endif
#ifndef KW
#define KW POLYBENCH_SIZE(2, 4, 5, 5, 5)
#endif

static void kernel_conv2d_parametric(int nf, int nc, int h, int w, int kh, int kw,
                                     DATA_TYPE in[nc][h + kh][w + kw],
                                     DATA_TYPE filter[nf][nc][kh][kw], DATA_TYPE out[nf][h][w])
{
#pragma scop
    for (int f = 0; f < nf; f++)
        for (int i = 0; i < h; i++)
            for (int j = 0; j < w; j++) {
                out[f][i][j] = 0;
                for (int c = 0; c < nc; c++)
                    for (int r = 0; r < kh; r++)
                        for (int s = 0; s < kw; s++)
                            out[f][i][j] += filter[f][c][r][s] * in[c][i + r][j + s];
            }
#pragma endscop
}

int main(void)
{
    int nf = NF;
    int nc = NC;
    int h = H;
    int w = W;
    int kh = KH;
    int kw = KW;
    void *in = tensor_input("in", 1, (size_t) nc * (h + kh) * (w + kw));
    void *filter = tensor_input("filter", 2, (size_t) nf * nc * kh * kw);
    void *out = tensor_result((size_t) nf * h * w);

    polybench_start_instruments;
    kernel_conv2d_parametric(nf, nc, h, w, kh, kw, in, filter, out);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("out", out, (size_t) nf * h * w);
    free(in);
    free(filter);
    free(out);
    return 0;
}
