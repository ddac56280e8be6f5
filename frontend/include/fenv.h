#ifndef POLYTILE_FENV_H
#define POLYTILE_FENV_H
#define FE_INVALID 1
#define FE_DIVBYZERO 4
#define FE_OVERFLOW 8
#define FE_UNDERFLOW 16
#define FE_INEXACT 32
#define FE_ALL_EXCEPT 61
#define FE_TONEAREST 0
#define FE_DOWNWARD 1024
#define FE_UPWARD 2048
#define FE_TOWARDZERO 3072
typedef struct { unsigned int state[8]; } fenv_t;
typedef unsigned short fexcept_t;
#define FE_DFL_ENV ((const fenv_t *)-1)
int feclearexcept(int exceptions);
int feraiseexcept(int exceptions);
int fetestexcept(int exceptions);
int fegetround(void);
int fesetround(int direction);
int fegetenv(fenv_t *environment);
int feholdexcept(fenv_t *environment);
int fesetenv(const fenv_t *environment);
int feupdateenv(const fenv_t *environment);
int feenableexcept(int exceptions);
int fedisableexcept(int exceptions);
#endif
