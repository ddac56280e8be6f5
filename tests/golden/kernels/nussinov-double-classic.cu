// nussinov.c:53: table[i][j] = (table[i][j] >= table[i][j - 1]) ? (table[i][j]) : (table[i][j - 1]);
// nussinov.c:55: table[i][j] = (table[i][j] >= table[i + 1][j]) ? (table[i][j]) : (table[i + 1][j]);
// nussinov.c:59: table[i][j] = (table[i][j] >= table[i + 1][j - 1] + ((seq[i] + seq[j] == 3) ? (1) : (0))) ?
//     (table[i][j]) : (table[i + 1][j - 1] + ((seq[i] + seq[j] == 3) ? (1) : (0)));
// nussinov.c:62: table[i][j] = (table[i][j] >= table[i + 1][j - 1]) ? (table[i][j]) : (table[i + 1][j - 1]);
// nussinov.c:66: table[i][j] = (table[i][j] >= table[i][k] + table[k + 1][j]) ? (table[i][j]) : (table[i][k] +
//     table[k + 1][j]);
// classic (fused) schedule; blocks: b0 = x; 32 x 1 x 1 threads
extern "C" __global__ void __launch_bounds__(32, 16) kernel_nussinov_scop0_k0(int n, int c0,
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
            {
                int c_3_last = c0 + t0 + 32 * b0 - 1;
                #pragma unroll 1
                for (int c_3 = t0 + 32 * b0 + 1; c_3 < c_3_last - 14; c_3 += 16) {
                    double table_at0 = table[(long long)i * n + c_3 - 1];
                    double table1_at0 = table[(long long)c_3 * n + j];
                    double table_at1 = table[(long long)i * n + c_3];
                    double table1_at1 = table[(long long)(c_3 + 1) * n + j];
                    double table_at2 = table[(long long)i * n + c_3 + 1];
                    double table1_at2 = table[(long long)(c_3 + 2) * n + j];
                    double table_at3 = table[(long long)i * n + c_3 + 2];
                    double table1_at3 = table[(long long)(c_3 + 3) * n + j];
                    double table_at4 = table[(long long)i * n + c_3 + 3];
                    double table1_at4 = table[(long long)(c_3 + 4) * n + j];
                    double table_at5 = table[(long long)i * n + c_3 + 4];
                    double table1_at5 = table[(long long)(c_3 + 5) * n + j];
                    double table_at6 = table[(long long)i * n + c_3 + 5];
                    double table1_at6 = table[(long long)(c_3 + 6) * n + j];
                    double table_at7 = table[(long long)i * n + c_3 + 6];
                    double table1_at7 = table[(long long)(c_3 + 7) * n + j];
                    double table_at8 = table[(long long)i * n + c_3 + 7];
                    double table1_at8 = table[(long long)(c_3 + 8) * n + j];
                    double table_at9 = table[(long long)i * n + c_3 + 8];
                    double table1_at9 = table[(long long)(c_3 + 9) * n + j];
                    double table_at10 = table[(long long)i * n + c_3 + 9];
                    double table1_at10 = table[(long long)(c_3 + 10) * n + j];
                    double table_at11 = table[(long long)i * n + c_3 + 10];
                    double table1_at11 = table[(long long)(c_3 + 11) * n + j];
                    double table_at12 = table[(long long)i * n + c_3 + 11];
                    double table1_at12 = table[(long long)(c_3 + 12) * n + j];
                    double table_at13 = table[(long long)i * n + c_3 + 12];
                    double table1_at13 = table[(long long)(c_3 + 13) * n + j];
                    double table_at14 = table[(long long)i * n + c_3 + 13];
                    double table1_at14 = table[(long long)(c_3 + 14) * n + j];
                    double table_at15 = table[(long long)i * n + c_3 + 14];
                    double table1_at15 = table[(long long)(c_3 + 15) * n + j];
                    table_acc = table_acc >= table_at0 + table1_at0 ? table_acc : table_at0 + table1_at0;
                    table_acc = table_acc >= table_at1 + table1_at1 ? table_acc : table_at1 + table1_at1;
                    table_acc = table_acc >= table_at2 + table1_at2 ? table_acc : table_at2 + table1_at2;
                    table_acc = table_acc >= table_at3 + table1_at3 ? table_acc : table_at3 + table1_at3;
                    table_acc = table_acc >= table_at4 + table1_at4 ? table_acc : table_at4 + table1_at4;
                    table_acc = table_acc >= table_at5 + table1_at5 ? table_acc : table_at5 + table1_at5;
                    table_acc = table_acc >= table_at6 + table1_at6 ? table_acc : table_at6 + table1_at6;
                    table_acc = table_acc >= table_at7 + table1_at7 ? table_acc : table_at7 + table1_at7;
                    table_acc = table_acc >= table_at8 + table1_at8 ? table_acc : table_at8 + table1_at8;
                    table_acc = table_acc >= table_at9 + table1_at9 ? table_acc : table_at9 + table1_at9;
                    table_acc = table_acc >= table_at10 + table1_at10 ? table_acc : table_at10 + table1_at10;
                    table_acc = table_acc >= table_at11 + table1_at11 ? table_acc : table_at11 + table1_at11;
                    table_acc = table_acc >= table_at12 + table1_at12 ? table_acc : table_at12 + table1_at12;
                    table_acc = table_acc >= table_at13 + table1_at13 ? table_acc : table_at13 + table1_at13;
                    table_acc = table_acc >= table_at14 + table1_at14 ? table_acc : table_at14 + table1_at14;
                    table_acc = table_acc >= table_at15 + table1_at15 ? table_acc : table_at15 + table1_at15;
                }
                #pragma unroll 1
                for (int c_3_rest = t0 + 32 * b0 + 1 + (c_3_last - (t0 + 32 * b0 + 1) + 1) / 16 * 16; c_3_rest <= c_3_last;
                        c_3_rest += 8) {
                    double table_at0 = table[(long long)i * n + c_3_rest - 1];
                    double table1_at0 = table[(long long)c_3_rest * n + j];
                    double table_at1 = table[(long long)i * n + polytile_min(c_3_rest + 1, c_3_last) - 1];
                    double table1_at1 = table[(long long)polytile_min(c_3_rest + 1, c_3_last) * n + j];
                    double table_at2 = table[(long long)i * n + polytile_min(c_3_rest + 2, c_3_last) - 1];
                    double table1_at2 = table[(long long)polytile_min(c_3_rest + 2, c_3_last) * n + j];
                    double table_at3 = table[(long long)i * n + polytile_min(c_3_rest + 3, c_3_last) - 1];
                    double table1_at3 = table[(long long)polytile_min(c_3_rest + 3, c_3_last) * n + j];
                    double table_at4 = table[(long long)i * n + polytile_min(c_3_rest + 4, c_3_last) - 1];
                    double table1_at4 = table[(long long)polytile_min(c_3_rest + 4, c_3_last) * n + j];
                    double table_at5 = table[(long long)i * n + polytile_min(c_3_rest + 5, c_3_last) - 1];
                    double table1_at5 = table[(long long)polytile_min(c_3_rest + 5, c_3_last) * n + j];
                    double table_at6 = table[(long long)i * n + polytile_min(c_3_rest + 6, c_3_last) - 1];
                    double table1_at6 = table[(long long)polytile_min(c_3_rest + 6, c_3_last) * n + j];
                    double table_at7 = table[(long long)i * n + polytile_min(c_3_rest + 7, c_3_last) - 1];
                    double table1_at7 = table[(long long)polytile_min(c_3_rest + 7, c_3_last) * n + j];
                    table_acc = table_acc >= table_at0 + table1_at0 ? table_acc : table_at0 + table1_at0;
                    if (c_3_rest <= c_3_last - 1) {
                        table_acc = table_acc >= table_at1 + table1_at1 ? table_acc : table_at1 + table1_at1;
                    }
                    if (c_3_rest <= c_3_last - 2) {
                        table_acc = table_acc >= table_at2 + table1_at2 ? table_acc : table_at2 + table1_at2;
                    }
                    if (c_3_rest <= c_3_last - 3) {
                        table_acc = table_acc >= table_at3 + table1_at3 ? table_acc : table_at3 + table1_at3;
                    }
                    if (c_3_rest <= c_3_last - 4) {
                        table_acc = table_acc >= table_at4 + table1_at4 ? table_acc : table_at4 + table1_at4;
                    }
                    if (c_3_rest <= c_3_last - 5) {
                        table_acc = table_acc >= table_at5 + table1_at5 ? table_acc : table_at5 + table1_at5;
                    }
                    if (c_3_rest <= c_3_last - 6) {
                        table_acc = table_acc >= table_at6 + table1_at6 ? table_acc : table_at6 + table1_at6;
                    }
                    if (c_3_rest <= c_3_last - 7) {
                        table_acc = table_acc >= table_at7 + table1_at7 ? table_acc : table_at7 + table1_at7;
                    }
                }
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
