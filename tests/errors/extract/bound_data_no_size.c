// expect: 7:33: error: the subscript `j` of `val` is not affine: it reads data, and how large the array is is not known
void f(int n, int *row, double *val, double y[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
      for (int j = row[i]; j < row[i + 1]; j++)
        row[i + 2] = j, y[i] += val[j];
#pragma endscop
}
