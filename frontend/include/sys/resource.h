#ifndef POLYTILE_SYS_RESOURCE_H
#define POLYTILE_SYS_RESOURCE_H
#include <sys/time.h>
#define RUSAGE_SELF 0
#define RLIMIT_STACK 3
#define RLIM_INFINITY 18446744073709551615UL
typedef unsigned long rlim_t;
struct rlimit { rlim_t rlim_cur; rlim_t rlim_max; };
struct rusage { struct timeval ru_utime; struct timeval ru_stime; long ru_maxrss; };
int getrusage(int who, struct rusage *usage);
int getrlimit(int resource, struct rlimit *limit);
int setrlimit(int resource, const struct rlimit *limit);
#endif
