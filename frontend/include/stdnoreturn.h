#ifndef POLYTILE_STDNORETURN_H
#define POLYTILE_STDNORETURN_H
#define noreturn _Noreturn
#endif
