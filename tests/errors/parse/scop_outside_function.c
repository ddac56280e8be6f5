// expect: 2:9: error: '#pragma scop' does not stand among the statements of a function
#pragma scop
int n;
#pragma endscop
