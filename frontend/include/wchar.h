#ifndef POLYTILE_WCHAR_H
#define POLYTILE_WCHAR_H
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <wctype.h>
typedef struct { int count; unsigned int value; } mbstate_t;
wchar_t *wcscpy(wchar_t *restrict to, const wchar_t *restrict from);
wchar_t *wcscat(wchar_t *restrict to, const wchar_t *restrict from);
int wcscmp(const wchar_t *one, const wchar_t *other);
size_t wcslen(const wchar_t *text);
wchar_t *wcschr(const wchar_t *text, wchar_t c);
wchar_t *wcsstr(const wchar_t *text, const wchar_t *part);
int wprintf(const wchar_t *restrict format, ...);
int fwprintf(FILE *restrict file, const wchar_t *restrict format, ...);
int swprintf(wchar_t *restrict text, size_t size, const wchar_t *restrict format, ...);
size_t mbrtowc(wchar_t *restrict to, const char *restrict from, size_t size, mbstate_t *restrict state);
size_t wcrtomb(char *restrict to, wchar_t c, mbstate_t *restrict state);
size_t mbsrtowcs(wchar_t *restrict to, const char **restrict from, size_t size, mbstate_t *restrict state);
size_t wcsrtombs(char *restrict to, const wchar_t **restrict from, size_t size, mbstate_t *restrict state);
#endif
