#include <math.h>

void threshold_and_count(int h, int w, int A[h][w], int B[h][w], int level, int o[1])
{
#pragma scop
    int count = 0;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            B[y][x] = A[y][x] > level;
            count += B[y][x];
        }
    o[0] = count;
#pragma endscop
}

void padded_blur(int h, int w, float A[h][w], float B[h][w])
{
#pragma scop
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            float s = 0;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++)
                    if (y + dy >= 0 && y + dy < h && x + dx >= 0 && x + dx < w)
                        s += A[y + dy][x + dx];
            B[y][x] = s / 9;
        }
#pragma endscop
}

void clamped_blur(int h, int w, float A[h][w], float B[h][w])
{
#pragma scop
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            int up = y > 0 ? y - 1 : 0, down = y < h - 1 ? y + 1 : h - 1;
            B[y][x] = (A[up][x] + A[y][x] + A[down][x]) / 3;
        }
#pragma endscop
}

void gradient_magnitude(int h, int w, float A[h][w], float G[h][w], float o[1])
{
#pragma scop
    float most = 0;
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            float gx = A[y][x + 1] - A[y][x - 1], gy = A[y + 1][x] - A[y - 1][x];
            float g = sqrtf(gx * gx + gy * gy);
            G[y][x] = g;
            most = fmaxf(most, g);
        }
    o[0] = most;
#pragma endscop
}

void median_of_cross(int h, int w, int A[h][w], int B[h][w])
{
#pragma scop
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            int a = A[y - 1][x], b = A[y][x], c = A[y + 1][x], t;
            if (a > b) { t = a; a = b; b = t; }
            if (b > c) { t = b; b = c; c = t; }
            if (a > b) { t = a; a = b; b = t; }
            B[y][x] = b;
        }
#pragma endscop
}

void label_step(int h, int w, int L[h][w], int N[h][w], int *changed)
{
#pragma scop
    *changed = 0;
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            int v = L[y][x];
            if (L[y - 1][x] < v) v = L[y - 1][x];
            if (L[y + 1][x] < v) v = L[y + 1][x];
            if (L[y][x - 1] < v) v = L[y][x - 1];
            if (L[y][x + 1] < v) v = L[y][x + 1];
            N[y][x] = v;
            if (v != L[y][x])
                *changed = 1;
        }
#pragma endscop
}

void grey_histogram(int h, int w, int A[h][w], int H[32])
{
#pragma scop
    for (int k = 0; k < 32; k++)
        H[k] = 0;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            H[A[y][x] & 31]++;
#pragma endscop
}

void brightness(int h, int w, float A[h][w], float factor, float o[2])
{
#pragma scop
    float lo = 99, hi = -99;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            float v = A[y][x] * factor;
            if (v < 0) v = 0;
            if (v > 1) v = 1;
            A[y][x] = v;
            lo = fminf(lo, v);
            hi = fmaxf(hi, v);
        }
    o[0] = lo;
    o[1] = hi;
#pragma endscop
}

void erosion(int h, int w, int A[h][w], int B[h][w])
{
#pragma scop
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            int least = A[y][x];
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++)
                    least = A[y + dy][x + dx] < least ? A[y + dy][x + dx] : least;
            B[y][x] = least;
        }
#pragma endscop
}

void mean_of_mask(int h, int w, float A[h][w], int M[h][w], float o[1], int c[1])
{
#pragma scop
    float s = 0;
    int inside = 0;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            if (M[y][x] > 0) {
                float v = A[y][x];
                s += v;
                inside++;
            }
    o[0] = s;
    c[0] = inside;
#pragma endscop
}

void colours_to_grey(int h, int w, float C[h][w][3], float G[h][w])
{
#pragma scop
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            G[y][x] = 0.3f * C[y][x][0] + 0.6f * C[y][x][1] + 0.1f * C[y][x][2];
#pragma endscop
}

void mirrored(int h, int w, float A[h][w])
{
#pragma scop
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w / 2; x++) {
            float t = A[y][x];
            A[y][x] = A[y][w - 1 - x];
            A[y][w - 1 - x] = t;
        }
#pragma endscop
}
