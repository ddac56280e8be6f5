#ifndef POLYTILE_UNISTD_H
#define POLYTILE_UNISTD_H
#include <sys/types.h>
#define _SC_PAGESIZE 30
#define _SC_NPROCESSORS_ONLN 84
#define STDIN_FILENO 0
#define STDOUT_FILENO 1
#define STDERR_FILENO 2
extern char *optarg;
extern int optind, opterr, optopt;
int getopt(int count, char *const arguments[], const char *options);
long sysconf(int name);
unsigned int sleep(unsigned int seconds);
int usleep(useconds_t microseconds);
pid_t getpid(void);
ssize_t read(int file, void *buffer, size_t size);
ssize_t write(int file, const void *buffer, size_t size);
int close(int file);
int access(const char *path, int mode);
int unlink(const char *path);
char *getcwd(char *buffer, size_t size);
int gethostname(char *name, size_t size);
void _exit(int status);
#endif
