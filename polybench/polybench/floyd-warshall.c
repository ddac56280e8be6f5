/*
 * floyd-warshall: path_ij := length of the shortest path from i to j, for all pairs of the n
 * vertices; in step k the paths may also go through vertex k.
 *
 * The array is global with a constant extent. Lengths are int unless DATA_TYPE says otherwise.
 */
#define DEFAULT_DATA_TYPE int
#include "polybench.h"

#ifndef N
#define N POLYBENCH_SIZE(60, 180, 500, 2800, 5600)
#endif

#if N > 0
#define MAX_N N
#else
#define MAX_N 1
#endif

static DATA_TYPE path[MAX_N][MAX_N];

/* Every eighth pair, about, has an edge; the others are far apart. */
static void init_path(int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (i == j)
                path[i][j] = 0;
            else if (polybench_random(1, i, j, 0) < 0.125)
                path[i][j] = (DATA_TYPE) (1 + (int) (1000.0 * polybench_random(2, i, j, 0)));
            else
                path[i][j] = (DATA_TYPE) (5000 + (int) (5000.0 * polybench_random(3, i, j, 0)));
}

static void floyd_warshall(int n)
{
#pragma scop
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                path[i][j] = path[i][j] < path[i][k] + path[k][j] ? path[i][j]
                                                                  : path[i][k] + path[k][j];
#pragma endscop
}

int main(void)
{
    int n = N;

    init_path(n);
    polybench_input("path", path, (size_t) n * n);

    polybench_start_instruments;
    floyd_warshall(n);
    polybench_stop_instruments;
    polybench_print_instruments;

    polybench_output("path", path, (size_t) n * n);
    return 0;
}
