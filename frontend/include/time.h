#ifndef POLYTILE_TIME_H
#define POLYTILE_TIME_H
#include <sys/types.h>
#define CLOCKS_PER_SEC 1000000L
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1
#define CLOCK_PROCESS_CPUTIME_ID 2
#define CLOCK_THREAD_CPUTIME_ID 3
#define CLOCK_MONOTONIC_RAW 4
#define TIME_UTC 1
struct timespec { time_t tv_sec; long tv_nsec; };
struct tm {
    int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst;
    long tm_gmtoff;
    const char *tm_zone;
};
time_t time(time_t *now);
clock_t clock(void);
double difftime(time_t end, time_t start);
time_t mktime(struct tm *parts);
struct tm *gmtime(const time_t *when);
struct tm *localtime(const time_t *when);
char *ctime(const time_t *when);
char *asctime(const struct tm *parts);
size_t strftime(char *text, size_t size, const char *format, const struct tm *parts);
int clock_gettime(clockid_t clock, struct timespec *now);
int clock_getres(clockid_t clock, struct timespec *resolution);
int timespec_get(struct timespec *now, int base);
int nanosleep(const struct timespec *wanted, struct timespec *rest);
#endif
