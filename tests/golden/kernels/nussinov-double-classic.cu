// nussinov.c:53: table[i][j] = (table[i][j] >= table[i][j - 1]) ? (table[i][j]) : (table[i][j - 1]);
// nussinov.c:55: table[i][j] = (table[i][j] >= table[i + 1][j]) ? (table[i][j]) : (table[i + 1][j]);
// nussinov.c:59: table[i][j] = (table[i][j] >= table[i + 1][j - 1] + ((seq[i] + seq[j] == 3) ? (1) : (0))) ?
//     (table[i][j]) : (table[i + 1][j - 1] + ((seq[i] + seq[j] == 3) ? (1) : (0)));
// nussinov.c:62: table[i][j] = (table[i][j] >= table[i + 1][j - 1]) ? (table[i][j]) : (table[i + 1][j - 1]);
// nussinov.c:66: table[i][j] = (table[i][j] >= table[i][k] + table[k + 1][j]) ? (table[i][j]) : (table[i][k] +
//     table[k + 1][j]);
// classic (fused) schedule; blocks: b0 = x; 32 x 1 x 1 threads
extern "C" __global__ void __launch_bounds__(32) kernel_nussinov_scop0_k0(int n, int c0,
        double *__restrict__ table, const char *__restrict__ seq)
{
    const int b0 = blockIdx.x;
    const int t0 = threadIdx.x;

    polytile_await_launches();
    if (t0 + 32 * b0 >= 1 && n >= c0 + t0 + 32 * b0) {
        {
            int i = t0 + 32 * b0 - 1;  // nussinov.c:53
            int j = c0 + t0 + 32 * b0 - 1;
            table[(long long)i * n + j] = table[(long long)i * n + j] >= table[(long long)i * n + j - 1] ?
                    table[(long long)i * n + j] : table[(long long)i * n + j - 1];
            table[(long long)i * n + j] = table[(long long)i * n + j] >= table[(long long)(i + 1) * n + j] ?
                    table[(long long)i * n + j] : table[(long long)(i + 1) * n + j];  // nussinov.c:55
        }
        if (c0 >= 2) {
            int i = t0 + 32 * b0 - 1;  // nussinov.c:59
            int j = c0 + t0 + 32 * b0 - 1;
            table[(long long)i * n + j] = table[(long long)i * n + j] >= table[(long long)(i + 1) * n + j - 1] +
                    (seq[i] + seq[j] == 3 ? 1 : 0) ? table[(long long)i * n + j] :
                    table[(long long)(i + 1) * n + j - 1] + (seq[i] + seq[j] == 3 ? 1 : 0);
        }
        if (t0 + 32 * b0 + 1 < c0 + t0 + 32 * b0) {
            int i = t0 + 32 * b0 - 1;  // nussinov.c:66
            int j = c0 + t0 + 32 * b0 - 1;
            double table_acc = table[(long long)i * n + j];
            for (int c_3 = t0 + 32 * b0 + 1; c_3 < c0 + t0 + 32 * b0; ++c_3) {
                int k = c_3 - 1;
                table_acc = table_acc >= table[(long long)i * n + k] + table[(long long)(k + 1) * n + j] ? table_acc :
                        table[(long long)i * n + k] + table[(long long)(k + 1) * n + j];
            }
            table[(long long)i * n + j] = table_acc;
        }
        if (c0 == 1) {
            int i = t0 + 32 * b0 - 1;  // nussinov.c:62
            int j = t0 + 32 * b0;
            table[(long long)i * n + j] = table[(long long)i * n + j] >= table[(long long)(i + 1) * n + j - 1] ?
                    table[(long long)i * n + j] : table[(long long)(i + 1) * n + j - 1];
        }
    }
}
