#ifndef POLYTILE_WCTYPE_H
#define POLYTILE_WCTYPE_H
#include <stddef.h>
typedef unsigned int wint_t;
typedef unsigned long wctype_t;
#define WEOF 4294967295u
int iswalnum(wint_t c);
int iswalpha(wint_t c);
int iswdigit(wint_t c);
int iswlower(wint_t c);
int iswpunct(wint_t c);
int iswspace(wint_t c);
int iswupper(wint_t c);
wint_t towlower(wint_t c);
wint_t towupper(wint_t c);
#endif
