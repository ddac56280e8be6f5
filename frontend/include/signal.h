#ifndef POLYTILE_SIGNAL_H
#define POLYTILE_SIGNAL_H
#define SIGINT 2
#define SIGABRT 6
#define SIGFPE 8
#define SIGSEGV 11
#define SIGTERM 15
typedef int sig_atomic_t;
void (*signal(int number, void (*handler)(int)))(int);
int raise(int number);
#endif
