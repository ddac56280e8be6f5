/*
 * Shared header of the suite: element type, sizes, array macros, test data and output.
 *
 * Macros a user may set (-D NAME or -D NAME=VALUE):
 *   DATA_TYPE                element type: double (in most programs the default), float or int;
 *                            DATA_TYPE_IS_DOUBLE, _FLOAT or _INT do the same
 *   MINI_DATASET ... EXTRALARGE_DATASET   problem size (default: LARGE_DATASET);
 *                            each size macro (N, NI, TSTEPS, ...) may also be set by itself
 *   POLYBENCH_USE_SCALAR_LB  loop bounds are the size macros, not the size variables
 *   POLYBENCH_TIME           print the seconds the kernel took to stderr
 *   POLYBENCH_DUMP_ARRAYS    print all inputs and outputs to stdout
 */
#ifndef POLYBENCH_H
#define POLYBENCH_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef POLYBENCH_TIME
#include <time.h>
#endif

#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wunknown-pragmas" /* scop, endscop */
#endif

/* ---- Element type ------------------------------------------------------------------------ */

/* A program may define DEFAULT_DATA_TYPE before it includes this header. */
#ifndef DEFAULT_DATA_TYPE
#define DEFAULT_DATA_TYPE double
#endif

#ifndef DATA_TYPE
#if defined DATA_TYPE_IS_INT
#define DATA_TYPE int
#elif defined DATA_TYPE_IS_FLOAT
#define DATA_TYPE float
#elif defined DATA_TYPE_IS_DOUBLE
#define DATA_TYPE double
#else
#define DATA_TYPE DEFAULT_DATA_TYPE
#endif
#endif

/* #if cannot compare type names, so the name is pasted to a prefix that makes it a number. */
#define POLYBENCH_IS_int 1
#define POLYBENCH_IS_float 2
#define POLYBENCH_IS_double 3
#define POLYBENCH_PASTE(a, b) a##b
#define POLYBENCH_TYPE_NUMBER(type) POLYBENCH_PASTE(POLYBENCH_IS_, type)

#if POLYBENCH_TYPE_NUMBER(DATA_TYPE) == POLYBENCH_IS_float
#define SCALAR_VAL(x) x##f
#define SQRT_FUN(x) sqrtf(x)
#define EXP_FUN(x) expf(x)
#define POW_FUN(x, y) powf(x, y)
#elif POLYBENCH_TYPE_NUMBER(DATA_TYPE) == POLYBENCH_IS_double || \
    POLYBENCH_TYPE_NUMBER(DATA_TYPE) == POLYBENCH_IS_int
#define SCALAR_VAL(x) x
#define SQRT_FUN(x) sqrt(x)
#define EXP_FUN(x) exp(x)
#define POW_FUN(x, y) pow(x, y)
#else
#error "DATA_TYPE must be double, float or int"
#endif

/* ---- Problem size ------------------------------------------------------------------------ */

#if !defined MINI_DATASET && !defined SMALL_DATASET && !defined MEDIUM_DATASET && \
    !defined LARGE_DATASET && !defined EXTRALARGE_DATASET
#define LARGE_DATASET
#endif

/* POLYBENCH_SIZE picks its argument for the chosen dataset. */
#if defined MINI_DATASET
#define POLYBENCH_SIZE(mini, small, medium, large, extralarge) mini
#elif defined SMALL_DATASET
#define POLYBENCH_SIZE(mini, small, medium, large, extralarge) small
#elif defined MEDIUM_DATASET
#define POLYBENCH_SIZE(mini, small, medium, large, extralarge) medium
#elif defined EXTRALARGE_DATASET
#define POLYBENCH_SIZE(mini, small, medium, large, extralarge) extralarge
#else
#define POLYBENCH_SIZE(mini, small, medium, large, extralarge) large
#endif

#ifdef POLYBENCH_USE_SCALAR_LB
#define POLYBENCH_LOOP_BOUND(macro, variable) macro
#else
#define POLYBENCH_LOOP_BOUND(macro, variable) variable
#endif

/* ---- Arrays ------------------------------------------------------------------------------ */

/* Array parameters: D1, D2, ... are the size macros, d1, d2, ... the size variables. */
#define POLYBENCH_1D(var, D1, d1) var[d1]
#define POLYBENCH_2D(var, D1, D2, d1, d2) var[d1][d2]
#define POLYBENCH_3D(var, D1, D2, D3, d1, d2, d3) var[d1][d2][d3]

/* The extent of an array type is at least 1 in C, also where the problem size is 0. */
#define POLYBENCH_EXTENT(n) ((n) > 0 ? (n) : 1)

/* Array on the heap: var points to it, POLYBENCH_ARRAY(var) is the array. */
#define POLYBENCH_1D_ARRAY_DECL(var, type, D1, d1) \
    type(*var)[POLYBENCH_EXTENT(d1)] = polybench_alloc_data(1, sizeof *var)
#define POLYBENCH_2D_ARRAY_DECL(var, type, D1, D2, d1, d2) \
    type(*var)[POLYBENCH_EXTENT(d1)][POLYBENCH_EXTENT(d2)] = polybench_alloc_data(1, sizeof *var)
#define POLYBENCH_3D_ARRAY_DECL(var, type, D1, D2, D3, d1, d2, d3) \
    type(*var)[POLYBENCH_EXTENT(d1)][POLYBENCH_EXTENT(d2)][POLYBENCH_EXTENT(d3)] = \
        polybench_alloc_data(1, sizeof *var)
#define POLYBENCH_ARRAY(var) (*var)
#define POLYBENCH_FREE_ARRAY(var) free(var)

/* Memory that is not a number until something is stored to it (or, with int, -1). */
static inline void *polybench_alloc_data(size_t count, size_t size)
{
    size_t bytes = count * size;
    unsigned char *data = malloc(bytes);

    if (data == NULL && bytes > 0) {
        fprintf(stderr, "polybench: cannot allocate %lu bytes\n", (unsigned long) bytes);
        exit(EXIT_FAILURE);
    }
    for (size_t i = 0; i < bytes; i++)
        data[i] = 0xff;
    return data;
}

/* ---- Test data --------------------------------------------------------------------------- */

static inline unsigned polybench_mix(unsigned x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

/* A value in (0, 1), exact in float, that only depends on the array and on the position in it. */
static inline double polybench_random(int array, int i, int j, int k)
{
    unsigned x = polybench_mix((unsigned) array + 0x9e3779b9u);

    x = polybench_mix(x + (unsigned) i);
    x = polybench_mix(x + (unsigned) j);
    x = polybench_mix(x + (unsigned) k);
    return ((x >> 9) + 0.5) / 8388608.0;
}

/* The same plus a value per block of 16 x 16 x 16: what stencils do not average away soon. */
static inline double polybench_field(int array, int i, int j, int k)
{
    return polybench_random(array, i, j, k) + polybench_random(~array, i / 16, j / 16, k / 16);
}

/* ---- Output ------------------------------------------------------------------------------ */

static inline void polybench_dump(const char *kind, const char *name, const void *data,
                                  size_t count)
{
#ifdef POLYBENCH_DUMP_ARRAYS
    const DATA_TYPE *value = data;

    printf("%s %s", kind, name);
    for (size_t i = 0; i < count; i++)
        printf(" %.17g", (double) value[i]);
    printf("\n");
#else
    (void) kind, (void) name, (void) data, (void) count;
#endif
}

/* Called before the kernel. */
static inline void polybench_input(const char *name, const void *data, size_t count)
{
    polybench_dump("input", name, data, count);
}

/* Called after the kernel. The weights, in (0.5, 1.5), depend on the position. */
static inline void polybench_output(const char *name, const void *data, size_t count)
{
    const DATA_TYPE *value = data;
    double sum = 0.0;

    for (size_t i = 0; i < count; i++)
        sum += value[i] * (0.5 + polybench_random(0, (int) (i >> 16), (int) (i & 0xffff), 0));
    printf("%s %.16e\n", name, sum);
    polybench_dump("output", name, data, count);
}

#ifdef POLYBENCH_TIME
static double polybench_seconds;

static inline double polybench_clock(void)
{
#ifdef TIME_UTC
    struct timespec now;

    timespec_get(&now, TIME_UTC);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
#else
    return (double) clock() / CLOCKS_PER_SEC;
#endif
}

#define polybench_start_instruments polybench_seconds = -polybench_clock()
#define polybench_stop_instruments polybench_seconds += polybench_clock()
#define polybench_print_instruments fprintf(stderr, "%.6f\n", polybench_seconds)
#else
#define polybench_start_instruments ((void) 0)
#define polybench_stop_instruments ((void) 0)
#define polybench_print_instruments ((void) 0)
#endif

#endif
