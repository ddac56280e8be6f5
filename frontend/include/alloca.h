#ifndef POLYTILE_ALLOCA_H
#define POLYTILE_ALLOCA_H
#include <stddef.h>
void *alloca(size_t size);
#endif
