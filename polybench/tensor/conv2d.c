/* conv2d: out is the correlation of an image with a filter of 3 x 3; out: h x w, and the image has
 * a border of one element around. */
#include "tensor.h"

#ifndef H
#define H POLYBENCH_SIZE(20, 62, 250, 4096, 8190)
#endif
#ifndef W
#define W POLYBENCH_SIZE(22, 70, 258, 4096, 8200)
#endif

static void kernel_conv2d(int h, int w, DATA_TYPE in[h + 2][w + 2], DATA_TYPE filter[3][3],
                          DATA_TYPE out[h][w])
{
#pragma scop
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++) {
            out[i][j] = 0;
            for (int r = 0; r < 3; r++)
                for (int s = 0; s < 3; s++)
                    out[i][j] += filter[r][s] * in[i + r][j + s];
        }
#pragma endscop
}

int main(void)
{
    int h = H;
    int w = W;
    void *in = tensor_input("in", 1, (size_t) (h + 2) * (w + 2));
    void *filter = tensor_input("filter", 2, (size_t) 3 * 3);
    void *out = tensor_result((size_t) h * w);

    polybench_start_instruments;
    kernel_conv2d(h, w, in, filter, out);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("out", out, (size_t) h * w);
    free(in);
    free(filter);
    free(out);
    return 0;
}
