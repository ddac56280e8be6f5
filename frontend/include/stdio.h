#ifndef POLYTILE_STDIO_H
#define POLYTILE_STDIO_H
#include <stddef.h>
#include <stdarg.h>
typedef struct _IO_FILE FILE;
typedef long ssize_t;
typedef long fpos_t;
extern FILE *stdin, *stdout, *stderr;
#define EOF (-1)
#define BUFSIZ 8192
#define FILENAME_MAX 4096
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#define _IOFBF 0
#define _IOLBF 1
#define _IONBF 2
int printf(const char *restrict format, ...);
int fprintf(FILE *restrict file, const char *restrict format, ...);
int sprintf(char *restrict text, const char *restrict format, ...);
int snprintf(char *restrict text, size_t size, const char *restrict format, ...);
int vprintf(const char *restrict format, va_list list);
int vfprintf(FILE *restrict file, const char *restrict format, va_list list);
int vsnprintf(char *restrict text, size_t size, const char *restrict format, va_list list);
int scanf(const char *restrict format, ...);
int fscanf(FILE *restrict file, const char *restrict format, ...);
int sscanf(const char *restrict text, const char *restrict format, ...);
FILE *fopen(const char *restrict path, const char *restrict mode);
FILE *freopen(const char *restrict path, const char *restrict mode, FILE *restrict file);
FILE *tmpfile(void);
int fclose(FILE *file);
int fflush(FILE *file);
int setvbuf(FILE *restrict file, char *restrict buffer, int mode, size_t size);
size_t fread(void *restrict to, size_t size, size_t count, FILE *restrict file);
size_t fwrite(const void *restrict from, size_t size, size_t count, FILE *restrict file);
int fgetc(FILE *file);
int getc(FILE *file);
int getchar(void);
int ungetc(int c, FILE *file);
char *fgets(char *restrict text, int size, FILE *restrict file);
ssize_t getline(char **restrict line, size_t *restrict size, FILE *restrict file);
int fputc(int c, FILE *file);
int putc(int c, FILE *file);
int putchar(int c);
int fputs(const char *restrict text, FILE *restrict file);
int puts(const char *text);
int fseek(FILE *file, long offset, int origin);
long ftell(FILE *file);
void rewind(FILE *file);
int feof(FILE *file);
int ferror(FILE *file);
void perror(const char *text);
int remove(const char *path);
int rename(const char *from, const char *to);
#endif
