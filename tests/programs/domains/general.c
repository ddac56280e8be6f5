void checksum(int n, unsigned x[n], unsigned o[2])
{
#pragma scop
    unsigned sum = 0, bits = 0;
    for (int i = 0; i < n; i++) {
        unsigned v = x[i] * 2654435761u;
        sum += v;
        bits ^= v >> 7;
    }
    o[0] = sum;
    o[1] = bits;
#pragma endscop
}

void count_characters(int n, char s[n], int o[3])
{
#pragma scop
    int letters = 0, digits = 0, others = 0;
    for (int i = 0; i < n; i++)
        if (s[i] >= 'a' && s[i] <= 'z')
            letters++;
        else if (s[i] >= '0' && s[i] <= '9')
            digits++;
        else
            others++;
    o[0] = letters;
    o[1] = digits;
    o[2] = others;
#pragma endscop
}

void reverse(int n, int x[n], int y[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        y[n - 1 - i] = x[i];
#pragma endscop
}

void every_third(int n, double x[3 * n], double y[n])
{
#pragma scop
    int k = 0;
    for (int i = 0; i < n; i++) {
        y[i] = x[k];
        k += 3;
    }
#pragma endscop
}

void swap_if_greater(int n, double x[2 * n], int o[1])
{
#pragma scop
    int swaps = 0;
    for (int i = 0; i < n; i++)
        if (x[2 * i] > x[2 * i + 1]) {
            double t = x[2 * i];
            x[2 * i] = x[2 * i + 1];
            x[2 * i + 1] = t;
            swaps++;
        }
    o[0] = swaps;
#pragma endscop
}

void all_sorted(int n, int x[n], int o[1])
{
#pragma scop
    int sorted = 1;
    for (int i = 1; i < n; i++)
        if (x[i - 1] > x[i])
            sorted = 0;
    o[0] = sorted;
#pragma endscop
}

void transpose_and_sum(int n, int m, int A[n][m], int B[m][n], int o[1])
{
#pragma scop
    int s = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            B[j][i] = A[i][j];
            s += A[i][j] & 15;
        }
    o[0] = s;
#pragma endscop
}

struct body { double x, y, mass; };

void energy_of_bodies(int n, struct body b[n], double o[1])
{
#pragma scop
    double u = 0;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            double dx = b[i].x - b[j].x, dy = b[i].y - b[j].y;
            u -= b[i].mass * b[j].mass / (dx * dx + dy * dy + 1);
        }
    o[0] = u;
#pragma endscop
}

void alive_cells(int h, int w, int A[h][w], int B[h][w], int o[1])
{
#pragma scop
    int alive = 0;
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            int n = 0;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++)
                    n += A[y + dy][x + dx] & 1;
            n -= A[y][x] & 1;
            B[y][x] = n == 3 || ((A[y][x] & 1) && n == 2);
            alive += B[y][x];
        }
    o[0] = alive;
#pragma endscop
}

void first_differences(int n, double x[n])
{
#pragma scop
    for (int i = 0; i < n - 1; i++)
        x[i] = x[i + 1] - x[i];
#pragma endscop
}

void collatz(int n, int steps[n], int o[1])
{
#pragma scop
    int most = 0;
    for (int i = 0; i < n; i++) {
        int v = i + 1, c = 0;
        for (int k = 0; k < 20; k++)
            if (v > 1) {
                v = v % 2 ? 3 * v + 1 : v / 2;
                c++;
            }
        steps[i] = c;
        if (c > most)
            most = c;
    }
    o[0] = most;
#pragma endscop
}

void bits_set(int n, unsigned x[n], int o[2])
{
#pragma scop
    int total = 0, any = 0;
    for (int i = 0; i < n; i++) {
        int c = 0;
        for (int b = 0; b < 32; b++)
            c += x[i] >> b & 1;
        total += c;
        any |= c > 20;
    }
    o[0] = total;
    o[1] = any;
#pragma endscop
}
