// expect: 4:16: error: syntax error: illegal character '@'
int f(void)
{
    return 1 + @2;
}
