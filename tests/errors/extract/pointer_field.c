// expect: 9:24: error: the field `pixels` is not a scalar
// hint: set a pointer to it before the SCoP, `pixels = in->pixels`, and use that
struct image { int size; float *pixels; };
void f(int n, struct image *in, double c[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        if (c[i] > 0)
            in->pixels[i] = 1;
#pragma endscop
}
