// expect: 6:16: error: pointers and functions cannot be declared inside a SCoP
void f(int n, double a[n][n])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        double *row = a[i];
        row++;
        row[0] = 0;
    }
#pragma endscop
}
