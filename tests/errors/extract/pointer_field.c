// expect: 8:20: error: the field `pixels` is not a scalar
// hint: set a pointer to it before the SCoP, `pixels = in->pixels`, and use that
struct image { int size; float *pixels; };
void f(int n, struct image *in, struct image *other, float *w)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        in->pixels[i] = 1;
        other->pixels = w;
    }
#pragma endscop
}
