// expect: 2: error: unterminated #ifdef
#ifdef N
int n = N;
