#ifndef POLYTILE_SYS_MMAN_H
#define POLYTILE_SYS_MMAN_H
#include <sys/types.h>
#define PROT_NONE 0
#define PROT_READ 1
#define PROT_WRITE 2
#define PROT_EXEC 4
#define MAP_SHARED 1
#define MAP_PRIVATE 2
#define MAP_FIXED 16
#define MAP_ANONYMOUS 32
#define MAP_ANON 32
#define MAP_FAILED ((void *)-1)
#define MADV_NORMAL 0
#define MADV_SEQUENTIAL 2
#define MADV_WILLNEED 3
#define MADV_HUGEPAGE 14
#define MS_ASYNC 1
#define MS_SYNC 4
void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset);
int munmap(void *address, size_t size);
int mprotect(void *address, size_t size, int protection);
int madvise(void *address, size_t size, int advice);
int msync(void *address, size_t size, int flags);
int mlock(const void *address, size_t size);
int munlock(const void *address, size_t size);
#endif
