// expect: 5:5: error: syntax error before 'return'
double f(double x)
{
    double y = x
    return y;
}
