/* Heat in a plate whose edges are kept at their temperature. */
#include <math.h>
#include <stdlib.h>

#include "grid.h"

static int calls;

/* Each inner point moves towards the mean of its neighbours. main.c has a function of this name, too. */
static void smooth(int steps, double field[ROWS][COLUMNS], double next[ROWS][COLUMNS])
{
    int t, i, j;

#pragma scop
    for (t = 0; t < steps; t++) {
        for (i = 1; i < ROWS - 1; i++)
            for (j = 1; j < COLUMNS - 1; j++)
                next[i][j] = field[i][j]
                    + WEIGHT * (field[i - 1][j] - 2.0 * field[i][j] + field[i + 1][j])
                    + WEIGHT * (field[i][j - 1] - 2.0 * field[i][j] + field[i][j + 1]);
        for (i = 1; i < ROWS - 1; i++)
            for (j = 1; j < COLUMNS - 1; j++)
                field[i][j] = next[i][j];
    }
#pragma endscop
}

static void check(int steps)
{
    if (steps < 0)
        exit(EXIT_FAILURE);
    calls++;
}

void solve(int steps, double field[ROWS][COLUMNS], double next[ROWS][COLUMNS])
{
    int i, j;

    check(steps);
    for (i = 0; i < ROWS; i++)
        for (j = 0; j < COLUMNS; j++)
            next[i][j] = field[i][j];
    smooth(steps, field, next);
}

/* How far the field is from one that does not change any more. */
double residual(double field[ROWS][COLUMNS])
{
    double worst = 0.0;
    int i, j;

    for (i = 1; i < ROWS - 1; i++)
        for (j = 1; j < COLUMNS - 1; j++) {
            double change = field[i - 1][j] + field[i + 1][j] + field[i][j - 1] + field[i][j + 1]
                - 4.0 * field[i][j];
            if (fabs(change) > worst)
                worst = fabs(change);
        }
    return worst * calls;
}
