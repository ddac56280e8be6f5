// expect: 8:2: error: beside '#line' no SCoP can be found in the text of the file
void f(int n, double a[n])
{
#pragma scop
    for (int i = 0; i < n; i++) a[i] = 0;
#pragma endscop
}
 #line 2
void g(int n, double a[n])
{
#pragma scop
    for (int i = 0; i < n; i++) a[i] = 1;
#pragma endscop
}
