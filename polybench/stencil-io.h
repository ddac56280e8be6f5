/*
 * Arrays of the programs with many of them: allocated, filled as in stencil.h and, where asked
 * for, printed in one call. The number of an array tells it from the others of a program.
 */
#ifndef STENCIL_IO_H
#define STENCIL_IO_H

#include "stencil.h"

/* An input of nx * ny * nz elements. */
static inline void *stencil_field(const char *name, int array, int nx, int ny, int nz)
{
    size_t count = (size_t) nx * ny * nz;
    DATA_TYPE *data = polybench_alloc_data(count, sizeof *data);

    stencil_init(data, array, 1.0, nx, ny, nz);
    polybench_input(name, data, count);
    return data;
}

/* The two planes of an iterated input. */
static inline void *stencil_planes(const char *name, int array, int nx, int ny, int nz)
{
    size_t count = (size_t) nx * ny * nz;
    DATA_TYPE *data = polybench_alloc_data(2 * count, sizeof *data);

    stencil_init_planes(data, array, nx, ny, nz);
    polybench_input(name, data, 2 * count);
    return data;
}

#endif
