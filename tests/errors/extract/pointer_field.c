// expect: 9:20: error: the field `pixels` is not a scalar
// hint: set a pointer to it before the SCoP, `pixels = in->pixels`, and use that
struct image { int size; float *pixels; };
void f(struct image *in)
{
    int n = in->size;
#pragma scop
    for (int i = 0; i < n; i++)
        in->pixels[i] = 1;
#pragma endscop
}
