#ifndef POLYTILE_GLOB_H
#define POLYTILE_GLOB_H
#include <stddef.h>
typedef struct { size_t gl_pathc; char **gl_pathv; size_t gl_offs; int gl_flags; void *functions[5]; } glob_t;
int glob(const char *pattern, int flags, int (*failed)(const char *path, int number), glob_t *found);
void globfree(glob_t *found);
#endif
