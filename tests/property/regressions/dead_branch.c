/* Only branches that never run mention x, y and s. */
double f(int n, double A[n], double x[n], double y[n])
{
    double s = 1;
#pragma scop
    for (int i = 0; i < n; i++) {
        if (A[i] > 0.5) {
            if (i < n - 1) {
                A[i] = 1;
            } else if (i < n - 1) {
                x[i] = y[i];
                s = 2;
            }
        }
    }
#pragma endscop
    return s;
}
