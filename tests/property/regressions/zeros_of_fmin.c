/* C leaves open which zero fmin gives of two; the reference and the emulator have to choose alike. */
#include <math.h>

void f(double A[1], double B[4])
{
#pragma scop
    double z[2][5];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 5; j++)
            z[i][j] = B[0];
    for (int j = 0; j < 4; j++)
        A[0] = fmin(A[0], -B[j] * (z[1][j + 1] >= 2.0));
#pragma endscop
}
