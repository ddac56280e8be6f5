#ifndef POLYTILE_SETJMP_H
#define POLYTILE_SETJMP_H
typedef struct { long state[25]; } jmp_buf[1];
typedef jmp_buf sigjmp_buf;
int setjmp(jmp_buf place);
void longjmp(jmp_buf place, int value);
int sigsetjmp(sigjmp_buf place, int mask);
void siglongjmp(sigjmp_buf place, int value);
#endif
