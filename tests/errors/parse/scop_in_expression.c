// expect: 5:2: error: syntax error near 'pragma'
double f(double x)
{
    return x +
#pragma scop
        1;
}
