#ifndef POLYTILE_STDARG_H
#define POLYTILE_STDARG_H
typedef void *va_list;
void __polytile_va_list(va_list *list);
#define va_start(list, last) __polytile_va_list(&(list))
#define va_arg(list, type) (*(type *)(list))
#define va_copy(to, from) ((to) = (from))
#define va_end(list) __polytile_va_list(&(list))
#endif
