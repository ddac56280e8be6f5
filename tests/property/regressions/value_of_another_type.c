/* The condition around the call of `decay` was compared with the first value of its `s`, as both are 0, though one is a
   double: (p + 1 + i) % 3 < s, and where p is 0, (s + 1 + i) % 3. A quotient was computed before the condition held. */
static double decay(int count, const double v[count])
{
    double s = 0, c = 0.5;
    for (int q = 0; q < count; q++) {
        s += c * v[q];
        c *= 0.5;
    }
    return s;
}
static int share(int a, int b)
{
    int part = a / b;
    if (part > 3)
        part = part - 3;
    return part;
}
void f(int n, double D[n + 4][12], double x[n + 4], int y[n + 4], int z[n + 4])
{
#pragma scop
    for (int i = 1; i < n; i++)
        for (int p = 3; p >= 0; p--) {
            for (int q = 1; q < 4; q++) {
                double s2 = x[q];
                if (!((p + 1 + i) % 3 < 0))
                    s2 = decay(8, D[i]);
                x[q] = 0.5 * (x[q] + s2);
                if (x[q] > 100.0)
                    break;
            }
            if (p != 0 && i / p > 1)
                y[i] = y[i] + share(i, p);
        }
#pragma endscop
}
