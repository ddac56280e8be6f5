/*
 * deriche: a recursive smoothing filter over a w x h image. Along every row, the sum of a forward
 * and a backward recursion of second order; then the same along every column of the result.
 *
 * The arrays are pointers to rows of variable length, and the kernel is part of main.
 */
#include "polybench.h"

#ifndef W
#define W POLYBENCH_SIZE(64, 192, 720, 4096, 7680)
#endif
#ifndef H
#define H POLYBENCH_SIZE(64, 128, 480, 2160, 4320)
#endif

int main(void)
{
    int w = W;
    int h = H;
    DATA_TYPE alpha = SCALAR_VAL(0.25);
    DATA_TYPE k, a1, a2, a3, a4, a5, a6, a7, a8, b1, b2, c1, c2;
    DATA_TYPE xm1, tm1, ym1, ym2, xp1, xp2, tp1, tp2, yp1, yp2;

    if (w < 1 || h < 1) { /* array types have at least one element */
        polybench_output("imgOut", NULL, 0);
        return 0;
    }

    DATA_TYPE(*imgIn)[h] = malloc(w * sizeof *imgIn);
    DATA_TYPE(*imgOut)[h] = malloc(w * sizeof *imgOut);
    DATA_TYPE(*y1)[h] = malloc(w * sizeof *y1);
    DATA_TYPE(*y2)[h] = malloc(w * sizeof *y2);

    if (imgIn == NULL || imgOut == NULL || y1 == NULL || y2 == NULL)
        return EXIT_FAILURE;
    for (int i = 0; i < w; i++)
        for (int j = 0; j < h; j++)
            imgIn[i][j] = (DATA_TYPE) polybench_field(1, i, j, 0);
    polybench_input("alpha", &alpha, 1);
    polybench_input("imgIn", imgIn, (size_t) w * h);

    polybench_start_instruments;
#pragma scop
    k = (SCALAR_VAL(1.0) - EXP_FUN(-alpha)) * (SCALAR_VAL(1.0) - EXP_FUN(-alpha)) /
        (SCALAR_VAL(1.0) + SCALAR_VAL(2.0) * alpha * EXP_FUN(-alpha) -
         EXP_FUN(SCALAR_VAL(2.0) * alpha));
    a1 = a5 = k;
    a2 = a6 = k * EXP_FUN(-alpha) * (alpha - SCALAR_VAL(1.0));
    a3 = a7 = k * EXP_FUN(-alpha) * (alpha + SCALAR_VAL(1.0));
    a4 = a8 = -k * EXP_FUN(SCALAR_VAL(-2.0) * alpha);
    b1 = POW_FUN(SCALAR_VAL(2.0), -alpha);
    b2 = -EXP_FUN(SCALAR_VAL(-2.0) * alpha);
    c1 = c2 = 1;

    for (int i = 0; i < w; i++) {
        ym1 = SCALAR_VAL(0.0);
        ym2 = SCALAR_VAL(0.0);
        xm1 = SCALAR_VAL(0.0);
        for (int j = 0; j < h; j++) {
            y1[i][j] = a1 * imgIn[i][j] + a2 * xm1 + b1 * ym1 + b2 * ym2;
            xm1 = imgIn[i][j];
            ym2 = ym1;
            ym1 = y1[i][j];
        }
    }
    for (int i = 0; i < w; i++) {
        yp1 = SCALAR_VAL(0.0);
        yp2 = SCALAR_VAL(0.0);
        xp1 = SCALAR_VAL(0.0);
        xp2 = SCALAR_VAL(0.0);
        for (int j = h - 1; j >= 0; j--) {
            y2[i][j] = a3 * xp1 + a4 * xp2 + b1 * yp1 + b2 * yp2;
            xp2 = xp1;
            xp1 = imgIn[i][j];
            yp2 = yp1;
            yp1 = y2[i][j];
        }
    }
    for (int i = 0; i < w; i++)
        for (int j = 0; j < h; j++)
            imgOut[i][j] = c1 * (y1[i][j] + y2[i][j]);

    for (int j = 0; j < h; j++) {
        tm1 = SCALAR_VAL(0.0);
        ym1 = SCALAR_VAL(0.0);
        ym2 = SCALAR_VAL(0.0);
        for (int i = 0; i < w; i++) {
            y1[i][j] = a5 * imgOut[i][j] + a6 * tm1 + b1 * ym1 + b2 * ym2;
            tm1 = imgOut[i][j];
            ym2 = ym1;
            ym1 = y1[i][j];
        }
    }
    for (int j = 0; j < h; j++) {
        tp1 = SCALAR_VAL(0.0);
        tp2 = SCALAR_VAL(0.0);
        yp1 = SCALAR_VAL(0.0);
        yp2 = SCALAR_VAL(0.0);
        for (int i = w - 1; i >= 0; i--) {
            y2[i][j] = a7 * tp1 + a8 * tp2 + b1 * yp1 + b2 * yp2;
            tp2 = tp1;
            tp1 = imgOut[i][j];
            yp2 = yp1;
            yp1 = y2[i][j];
        }
    }
    for (int i = 0; i < w; i++)
        for (int j = 0; j < h; j++)
            imgOut[i][j] = c2 * (y1[i][j] + y2[i][j]);
#pragma endscop
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("imgOut", imgOut, (size_t) w * h);
    free(imgIn);
    free(imgOut);
    free(y1);
    free(y2);
    return 0;
}
