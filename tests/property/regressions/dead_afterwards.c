/* total is dead afterwards, but its value from before survives when n is 0: expanded, it stays an argument. */
#include <math.h>

double f(int n, double alpha, double C[3][2])
{
    double total = alpha;
#pragma scop
    for (int q = 0; q < n; q++)
        total = 1.5 * q;
    C[2][1] *= cos(alpha);
#pragma endscop
    return alpha;
}
