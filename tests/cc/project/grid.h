/* What both files of the program share. */
#ifndef GRID_H
#define GRID_H

#ifndef ROWS
#define ROWS 48
#endif
#ifndef COLUMNS
#define COLUMNS 40
#endif
#ifndef STEPS
#define STEPS 6
#endif

#define WEIGHT 0.125

typedef struct {
    double minimum;
    double maximum;
    double mean;
} summary;

/* solver.c */
void solve(int steps, double field[ROWS][COLUMNS], double next[ROWS][COLUMNS]);
double residual(double field[ROWS][COLUMNS]);

#endif
