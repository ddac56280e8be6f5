/* What the programs on tensors share: arrays of any number of dimensions, as one row of elements. */
#ifndef TENSOR_H
#define TENSOR_H

#include "../polybench/polybench.h"

/* An input: elements in (0, 1) that depend on the array's number and on the position. */
static inline void *tensor_input(const char *name, int array, size_t count)
{
    DATA_TYPE *data = polybench_alloc_data(count, sizeof *data);

    for (size_t i = 0; i < count; i++)
        data[i] = (DATA_TYPE) polybench_random(array, (int) (i >> 16), (int) (i & 0xffff), 0);
    polybench_input(name, data, count);
    return data;
}

/* An array that the kernel writes before it reads it. */
static inline void *tensor_result(size_t count)
{
    return polybench_alloc_data(count, sizeof(DATA_TYPE));
}

#endif
