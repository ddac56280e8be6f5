/*
 * Shared header of the stencils: rows of weighted neighbours and initial data.
 *
 * An iterated stencil keeps two planes, A[2]: step t reads plane t % 2 and writes the interior of
 * the other one. Both start with the same data, so that the border, which is never written, is
 * the same in all steps.
 *
 * Macro a user may set, besides those of polybench.h:
 *   POLYBENCH_READ_ARRAYS    read the initial data from stdin: the elements of each array that is
 *                            initialised, in the order of the program (planes: those of one)
 */
#ifndef STENCIL_H
#define STENCIL_H

#include <string.h>

#include "polybench/polybench.h"

/* The neighbours of row[k] on both sides, each with its weight. No parentheses around the sum:
 * a stencil of many rows is one chain of multiplications and additions, which suits fused
 * multiply-adds. */
#define STENCIL_ROW_3(row, k, a, b, c) \
    SCALAR_VAL(a) * row[k - 1] + SCALAR_VAL(b) * row[k] + SCALAR_VAL(c) * row[k + 1]
#define STENCIL_ROW_5(row, k, a, b, c, d, e) \
    SCALAR_VAL(a) * row[k - 2] + STENCIL_ROW_3(row, k, b, c, d) + SCALAR_VAL(e) * row[k + 2]
#define STENCIL_ROW_7(row, k, a, b, c, d, e, f, g) \
    SCALAR_VAL(a) * row[k - 3] + STENCIL_ROW_5(row, k, b, c, d, e, f) + SCALAR_VAL(g) * row[k + 3]
#define STENCIL_ROW_9(row, k, a, b, c, d, e, f, g, h, i) \
    SCALAR_VAL(a) * row[k - 4] + STENCIL_ROW_7(row, k, b, c, d, e, f, g, h) + \
        SCALAR_VAL(i) * row[k + 4]

#ifdef POLYBENCH_READ_ARRAYS
static inline double stencil_element(int array, double scale, int i, int j, int k)
{
    double value;

    (void) scale;

    if (scanf("%lf", &value) != 1) {
        fprintf(stderr, "stencil: no data for element (%d, %d, %d) of array %d\n", i, j, k, array);
        exit(EXIT_FAILURE);
    }
    return value;
}
#else
#define stencil_element(array, scale, i, j, k) ((scale) * polybench_field(array, i, j, k))
#endif

/* An array of nx * ny * nz elements between 0 and 2 * scale, or as they are read; the number tells
 * it from the others of a program. */
static inline void stencil_init(void *data, int array, double scale, int nx, int ny, int nz)
{
    DATA_TYPE *value = data;

    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++)
            for (int k = 0; k < nz; k++)
                *value++ = (DATA_TYPE) stencil_element(array, scale, i, j, k);
}

/* The two planes of an iterated stencil. */
static inline void stencil_init_planes(void *data, int array, int nx, int ny, int nz)
{
    size_t count = (size_t) nx * ny * nz;

    stencil_init(data, array, 1.0, nx, ny, nz);
    memcpy((DATA_TYPE *) data + count, data, count * sizeof(DATA_TYPE));
}

#endif
