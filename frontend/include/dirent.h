#ifndef POLYTILE_DIRENT_H
#define POLYTILE_DIRENT_H
#include <sys/types.h>
typedef struct polytile_directory DIR;
struct dirent { unsigned long d_ino; long d_off; unsigned short d_reclen; unsigned char d_type; char d_name[256]; };
#define DT_UNKNOWN 0
#define DT_DIR 4
#define DT_REG 8
#define DT_LNK 10
DIR *opendir(const char *path);
struct dirent *readdir(DIR *directory);
int closedir(DIR *directory);
void rewinddir(DIR *directory);
int scandir(const char *path, struct dirent ***found, int (*chosen)(const struct dirent *),
            int (*order)(const struct dirent **, const struct dirent **));
int alphasort(const struct dirent **one, const struct dirent **other);
#endif
