#ifndef POLYTILE_SYS_STAT_H
#define POLYTILE_SYS_STAT_H
#include <sys/types.h>
#define S_IRUSR 256
#define S_IWUSR 128
#define S_IXUSR 64
#define S_IRWXU 448
#define S_IRGRP 32
#define S_IWGRP 16
#define S_IROTH 4
#define S_IWOTH 2
struct stat { unsigned long st_dev; unsigned long st_ino; mode_t st_mode; unsigned long st_nlink; uid_t st_uid; gid_t st_gid; off_t st_size; time_t st_atime; time_t st_mtime; time_t st_ctime; };
int stat(const char *path, struct stat *found);
int fstat(int file, struct stat *found);
int mkdir(const char *path, mode_t mode);
int chmod(const char *path, mode_t mode);
#endif
