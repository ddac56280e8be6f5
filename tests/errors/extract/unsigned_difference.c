// expect: 6:29: error: a bound of the loop over `j` is not affine: `s - i` is unsigned and may wrap around below 0
void f(unsigned s, double A[100][100])
{
#pragma scop
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < s - i; j++)
            A[i][j] = 1;
#pragma endscop
}
