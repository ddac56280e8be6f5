#ifndef POLYTILE_STRINGS_H
#define POLYTILE_STRINGS_H
#include <stddef.h>
int strcasecmp(const char *a, const char *b);
int strncasecmp(const char *a, const char *b, size_t size);
void bzero(void *to, size_t size);
void bcopy(const void *from, void *to, size_t size);
#endif
