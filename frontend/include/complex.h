#ifndef POLYTILE_COMPLEX_H
#define POLYTILE_COMPLEX_H
#define complex _Complex
#define _Complex_I __polytile_imaginary_unit
#define I _Complex_I
extern const float _Complex __polytile_imaginary_unit;
double creal(double _Complex z);
double cimag(double _Complex z);
double cabs(double _Complex z);
double carg(double _Complex z);
double _Complex conj(double _Complex z);
double _Complex cexp(double _Complex z);
double _Complex csqrt(double _Complex z);
float crealf(float _Complex z);
float cimagf(float _Complex z);
float cabsf(float _Complex z);
#endif
