// expect: 8:16: error: 'polytile_status' in a SCoP would be hidden by what the generated program declares
// hint: give it another name: those that begin with 'polytile_' are for generated code
int polytile_apart;
void f(int n, double *A, int polytile_status)
{
#pragma scop
    for (int i = 0; i < n; i++)
        A[i] = polytile_status;
#pragma endscop
}
