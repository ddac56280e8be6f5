// expect: 8:30: error: the attribute `cleanup(done)` is not known in a SCoP
// hint: write it without the attribute, or outside of the SCoP
void done(int *x);
void f(int *a)
{
#pragma scop
    for (int i = 0; i < 64; i++) {
        int x __attribute__((cleanup(done))) = i;
        a[i] = x;
    }
#pragma endscop
}
