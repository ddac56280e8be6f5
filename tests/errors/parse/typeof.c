// expect: 4:19: error: syntax error before 'b'
double f(double a)
{
    __typeof__(a) b = a;
    return b;
}
