/* The wave equation in three dimensions: u'' = c^2 (u_xx + u_yy + u_zz).
 *
 * A pulse in the middle of a cube runs through two materials. Second differences in time and space (leapfrog): the
 * value of the next step needs those of the last two, so that two arrays take turns. The walls stay at 0.
 *
 *     ./wave [cells along an edge] [pairs of steps]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Pairs of steps: `before` becomes the next one, then `now` does. `k` is (c dt / dx)^2 of each cell. */
void propagate(int n, int pairs, float before[n][n][n], float now[n][n][n], float k[n][n][n])
{
#pragma scop
    for (int t = 0; t < pairs; t++) {
        for (int z = 1; z < n - 1; z++)
            for (int y = 1; y < n - 1; y++)
                for (int x = 1; x < n - 1; x++)
                    before[z][y][x] = 2.0f * now[z][y][x] - before[z][y][x]
                                      + k[z][y][x] * (now[z - 1][y][x] + now[z + 1][y][x] + now[z][y - 1][x]
                                                      + now[z][y + 1][x] + now[z][y][x - 1] + now[z][y][x + 1]
                                                      - 6.0f * now[z][y][x]);
        for (int z = 1; z < n - 1; z++)
            for (int y = 1; y < n - 1; y++)
                for (int x = 1; x < n - 1; x++)
                    now[z][y][x] = 2.0f * before[z][y][x] - now[z][y][x]
                                   + k[z][y][x] * (before[z - 1][y][x] + before[z + 1][y][x] + before[z][y - 1][x]
                                                   + before[z][y + 1][x] + before[z][y][x - 1] + before[z][y][x + 1]
                                                   - 6.0f * before[z][y][x]);
    }
#pragma endscop
}

/* A round pulse at rest; behind the middle waves are 1.5 times as fast. */
static void prepare(int n, float before[n][n][n], float now[n][n][n], float k[n][n][n])
{
    const float centre = 0.5f * (n - 1), width = 0.04f * n;
    for (int z = 0; z < n; z++)
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++) {
                float dx = x - centre, dy = y - centre, dz = z - centre;
                int wall = x == 0 || y == 0 || z == 0 || x == n - 1 || y == n - 1 || z == n - 1;
                now[z][y][x] = wall ? 0.0f : expf(-(dx * dx + dy * dy + dz * dz) / (width * width));
                before[z][y][x] = now[z][y][x];
                k[z][y][x] = 0.1f * (x > centre + 0.1f * n ? 2.25f : 1.0f);
            }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 256, pairs = argc > 2 ? atoi(argv[2]) : 500;
    if (n < 3 || n > 1024 || pairs < 0) {
        fprintf(stderr, "usage: %s [3..1024 cells] [pairs of steps]\n", argv[0]);
        return 2;
    }
    size_t bytes = sizeof(float) * n * n * n;
    float (*before)[n][n] = malloc(bytes), (*now)[n][n] = malloc(bytes), (*k)[n][n] = malloc(bytes);
    if (before == NULL || now == NULL || k == NULL)
        return 1;
    prepare(n, before, now, k);
    double start = seconds();
    propagate(n, pairs, before, now, k);
    double took = seconds() - start, energy = 0.0;
    for (int z = 0; z < n; z++)
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++)
                energy += (double)now[z][y][x] * now[z][y][x];
    printf("sum of squares %.6e; %.3f s, %.1f million cells a second\n", energy, took,
           2e-6 * pairs * n * n * n / took);
    free(before), free(now), free(k);
    return 0;
}
