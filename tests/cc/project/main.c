/* Makes a plate, heats it, blurs the result along its rows, and says what came out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"

#ifndef TITLE
#define TITLE "plate"
#endif

static double field[ROWS][COLUMNS], next[ROWS][COLUMNS], blurred[ROWS][COLUMNS];

/* A mean over three columns. solver.c has a function of this name, too. */
static void smooth(double in[ROWS][COLUMNS], double out[ROWS][COLUMNS])
{
#pragma scop
    for (int i = 0; i < ROWS; i++)
        for (int j = 1; j < COLUMNS - 1; j++)
            out[i][j] = 0.25 * in[i][j - 1] + 0.5 * in[i][j] + 0.25 * in[i][j + 1];
#pragma endscop
}

static unsigned next_random(unsigned *state)
{
    *state = *state * 1103515245u + 12345u;
    return *state >> 16 & 0x7fff;
}

/* Warm edges around a noisy inside. */
static void fill(unsigned seed)
{
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            if (i == 0 || i == ROWS - 1)
                field[i][j] = 100.0 - j;
            else if (j == 0 || j == COLUMNS - 1)
                field[i][j] = 50.0 + 0.5 * i;
            else
                field[i][j] = next_random(&seed) / 1024.0;
        }
    }
}

static summary summarise(double values[ROWS][COLUMNS])
{
    summary found = {values[0][0], values[0][0], 0.0};

    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            double value = values[i][j];
            if (value < found.minimum)
                found.minimum = value;
            if (value > found.maximum)
                found.maximum = value;
            found.mean += value;
        }
    }
    found.mean /= (double)ROWS * COLUMNS;
    return found;
}

static void print_summary(const char *name, summary found)
{
    printf("%-8s %.17g %.17g %.17g\n", name, found.minimum, found.maximum, found.mean);
}

static void print_row(const char *name, const double *row)
{
    printf("%-8s", name);
    for (int j = 0; j < COLUMNS; j += 4)
        printf(" %.17g", row[j]);
    printf("\n");
}

static int number(const char *text, int otherwise)
{
    char *end;
    long value = strtol(text, &end, 10);

    return *end == '\0' && value >= 0 && value < 10000 ? (int)value : otherwise;
}

static void usage(const char *program)
{
    fprintf(stderr, "usage: %s [STEPS [SEED]]\n", program);
    exit(2);
}

int main(int argc, char **argv)
{
    int steps = STEPS;
    unsigned seed = 1;

    if (argc > 3 || (argc > 1 && strcmp(argv[1], "-h") == 0))
        usage(argv[0]);
    if (argc > 1)
        steps = number(argv[1], STEPS);
    if (argc > 2)
        seed = (unsigned)number(argv[2], 1);

    printf("%s: %d x %d, %d steps, line %d of %s\n", TITLE, ROWS, COLUMNS, steps, __LINE__, __FILE__);
    fill(seed);
    print_summary("before", summarise(field));
    solve(steps, field, next);
    print_summary("after", summarise(field));
    memcpy(blurred, field, sizeof blurred);
    smooth(field, blurred);
    print_summary("blurred", summarise(blurred));
    for (int i = 1; i < ROWS; i += 11)
        print_row(i < ROWS / 2 ? "upper" : "lower", blurred[i]);
    printf("residual %.17g\n", residual(field));
    return 0;
}
