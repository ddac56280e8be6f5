#include <math.h>
#include <stdlib.h>

#define polytile_floord(a, c) ((a) / (c) - ((a) % (c) < 0))
#define polytile_min(a, b) ((a) < (b) ? (a) : (b))
#define polytile_pmod(a, c) ((a) % (c) < 0 ? (a) % (c) + (c) : (a) % (c))

struct unused;

void reference(int n, int m, const double *A, double *B, double *s, double alpha)
{
    double *tmp = calloc((long long)m > 0 ? (long long)m : 1, sizeof *tmp);
    double u;
    for (int i = polytile_pmod(-4, 2); i < polytile_min(n, polytile_floord(n * 2, 2)); i += 2) {
        for (int j = 0; j < m; ++j) {
            u = alpha * A[(long long)i * m + j];
            tmp[j] = u;
            B[(long long)(n - 1 - i) * m + j] = tmp[j];
            s[0] += u;
        }
    }
    free(tmp);
}
