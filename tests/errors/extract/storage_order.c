// expect: 9:34: error: 'b' cannot be used in a SCoP: it stands under `#pragma scalar_storage_order big-endian` (storage_order.c:3)
// hint: use a variable of a type without it, or leave the loop as it is
#pragma scalar_storage_order big-endian
struct be { int x; };
#pragma scalar_storage_order default
void f(struct be *b)
{
#pragma scop
    for (int i = 0; i < 64; i++) b[i].x = i;
#pragma endscop
}
