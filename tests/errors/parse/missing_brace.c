// expect: 7: error: syntax error at the end of the file
void f(int n, double a[n])
{
    for (int i = 0; i < n; i++) {
        a[i] = 0;

}
