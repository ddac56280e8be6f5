// Functions with SCoPs that several threads call at once, on parts of their own of arrays that they share.
//
// threads HOW CALLS: HOW is `one` thread, eight `pthreads` or eight of `openmp`; it prints the same sums for each.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTS 8
#ifndef N
#define N 48
#endif
#define M 48

struct pair { float x; float y; };

static double rows[PARTS][N], columns[N][PARTS], triangles[M][PARTS][M], shared_line[N * PARTS];
static int counts[2 * PARTS], owner[N], owned[N], place[PARTS][N], found;
static struct pair pairs[PARTS / 2][N];

void scaled(int n, double *restrict a, const double *restrict b, double by)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = b[i] * by + i;
    for (int i = 1; i < n - 1; i++)
        a[i] += b[i - 1] + b[i + 1];
#pragma endscop
}

void one_row(int t, double by)
{
#pragma scop
    for (int i = 0; i < N; i++)
        rows[t][i] = rows[t][i] / 2 + by * i;
#pragma endscop
}

void one_column(int t, double by)
{
#pragma scop
    for (int i = 0; i < N; i++)
        columns[i][t] = columns[i][t] / 2 - by * i;
#pragma endscop
}

void one_triangle(int t, double by)
{
#pragma scop
    for (int i = 0; i < M; i++)
        for (int j = 0; j <= i; j++)
            triangles[i][t][j] = triangles[i][t][j] / 2 + by * (i - j);
#pragma endscop
}

void every_eighth(int t, double by)
{
#pragma scop
    for (int i = 0; i < N; i++)
        shared_line[8 * i + t] = shared_line[8 * i + t] / 2 + by;
#pragma endscop
}

void histogram(int n, const int *restrict at)
{
#pragma scop
    for (int i = 0; i < n; i++)
        counts[at[i]] += 1;
#pragma endscop
}

void own_elements(int t, int by)
{
#pragma scop
    for (int i = 0; i < N; i++)
        if (owner[i] == t)
            owned[i] = owned[i] * 3 + by;
#pragma endscop
}

void first_fields(int n, struct pair *restrict p, float by)
{
#pragma scop
    for (int i = 0; i < n; i++)
        p[i].x = p[i].x / 2 + by;
#pragma endscop
}

void second_fields(int n, struct pair *restrict p, float by)
{
#pragma scop
    for (int i = 0; i < n; i++)
        p[i].y = p[i].y / 2 - by;
#pragma endscop
}

double product(int n, const double *restrict a, const double *restrict b)
{
    double sum = 0;
#pragma scop
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
#pragma endscop
    return sum;
}

void search(int n, const double *restrict a, double above)
{
#pragma scop
    for (int i = 0; i < n; i++)
        if (a[i] > above)
            found = 1;
#pragma endscop
}

void smoothed(int steps, int n, double *restrict a, double *restrict b)
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            b[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
        for (int i = 1; i < n - 1; i++)
            a[i] = b[i];
    }
#pragma endscop
}

static unsigned long long mixed(unsigned long long sum, const void *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ ((const unsigned char *)memory)[i]) * 1099511628211ull;
    return sum;
}

static unsigned long long sums[PARTS];
static int calls;

static void one_part(int t)
{
    double *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b);
    for (int i = 0; i < N; i++) {
        a[i] = (i * 7 + t) % 11;
        b[i] = (i * 5 + t) % 13;
    }
    for (int c = 0; c < calls; c++) {
        double by = (c + t) % 9 * 0.125, *more = malloc(N * sizeof *more), dot;
        memcpy(more, a, N * sizeof *more);
        scaled(N, more, b, by);
        one_row(t, by);
        one_column(t, by);
        one_triangle(t, by);
        every_eighth(t, by);
        histogram(N, place[t]);
        own_elements(t, c);
        if (t % 2)
            first_fields(N, pairs[t / 2], (float)by);
        else
            second_fields(N, pairs[t / 2], (float)by);
        search(N, more, t == 3 && c == calls / 2 ? -1e9 : 1e9);
        smoothed(12, N, a, b);
        dot = product(N, more, b);
        a[c % N] += by;
        b[(c * 3) % N] -= by;
        sums[t] = mixed(sums[t], &dot, sizeof dot);
        sums[t] = mixed(sums[t], more, N * sizeof *more);
        free(more);
    }
    sums[t] = mixed(mixed(sums[t], a, N * sizeof *a), b, N * sizeof *b);
    free(a);
    free(b);
}

static void *part(void *argument)
{
    one_part(*(int *)argument);
    return NULL;
}

static void in_threads(void)
{
    pthread_t threads[PARTS];
    int numbers[PARTS];
    for (int t = 0; t < PARTS; t++) {
        numbers[t] = t;
        pthread_create(&threads[t], NULL, part, &numbers[t]);
    }
    for (int t = 0; t < PARTS; t++)
        pthread_join(threads[t], NULL);
}

static void print(const char *name, const void *memory, size_t bytes)
{
    printf("%s %016llx\n", name, mixed(14695981039346656037ull, memory, bytes));
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "pthreads";
    calls = argc > 2 ? atoi(argv[2]) : 1000;
    for (int i = 0; i < N; i++) {
        owner[i] = (i * 5 + i / 8) % PARTS;
        for (int t = 0; t < PARTS; t++)
            place[t][i] = (i * i + t) % 2 * PARTS + t;
    }
    if (strcmp(how, "one") == 0) {
        for (int t = 0; t < PARTS; t++)
            one_part(t);
    } else if (strcmp(how, "openmp") == 0) {
#pragma omp parallel for num_threads(PARTS) schedule(static, 1)
        for (int t = 0; t < PARTS; t++)
            one_part(t);
    } else {
        in_threads();
    }
    print("sums", sums, sizeof sums);
    print("rows", rows, sizeof rows);
    print("columns", columns, sizeof columns);
    print("triangles", triangles, sizeof triangles);
    print("line", shared_line, sizeof shared_line);
    print("counts", counts, sizeof counts);
    print("owned", owned, sizeof owned);
    print("pairs", pairs, sizeof pairs);
    print("found", &found, sizeof found);
    return 0;
}
