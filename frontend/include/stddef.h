#ifndef POLYTILE_STDDEF_H
#define POLYTILE_STDDEF_H
typedef unsigned long size_t;
typedef long ptrdiff_t;
#ifdef __WCHAR_TYPE__
typedef __WCHAR_TYPE__ wchar_t;
#else
typedef int wchar_t;
#endif
#define NULL ((void *)0)
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
