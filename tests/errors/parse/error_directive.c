// expect: 3:2: error: #error define N
#ifndef N
#error "define N"
#endif
