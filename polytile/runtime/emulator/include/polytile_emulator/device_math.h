// Math functions as CUDA C++ overloads them in the global namespace: sqrt(float) is a float. <math.h> of the C++
// library brings those of C; here are the rest. The last bits may differ from the GPU's.
#ifndef POLYTILE_EMULATOR_DEVICE_MATH_H
#define POLYTILE_EMULATOR_DEVICE_MATH_H

#define POLYTILE_EMULATOR_MINMAX(A, B, R)                                                            \
  inline R min(A a, B b) { return static_cast<R>(a) < static_cast<R>(b) ? static_cast<R>(a) : static_cast<R>(b); } \
  inline R max(A a, B b) { return static_cast<R>(a) > static_cast<R>(b) ? static_cast<R>(a) : static_cast<R>(b); }
#define POLYTILE_EMULATOR_MINMAX_INTEGER(S, U) \
  POLYTILE_EMULATOR_MINMAX(S, S, S)            \
  POLYTILE_EMULATOR_MINMAX(U, U, U)            \
  POLYTILE_EMULATOR_MINMAX(S, U, U)            \
  POLYTILE_EMULATOR_MINMAX(U, S, U)
POLYTILE_EMULATOR_MINMAX_INTEGER(int, unsigned)
POLYTILE_EMULATOR_MINMAX_INTEGER(long, unsigned long)
POLYTILE_EMULATOR_MINMAX_INTEGER(long long, unsigned long long)
#undef POLYTILE_EMULATOR_MINMAX
#undef POLYTILE_EMULATOR_MINMAX_INTEGER

inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return ::fmin(a, b); }
inline double max(double a, double b) { return ::fmax(a, b); }
inline double min(float a, double b) { return ::fmin(double(a), b); }
inline double min(double a, float b) { return ::fmin(a, double(b)); }
inline double max(float a, double b) { return ::fmax(double(a), b); }
inline double max(double a, float b) { return ::fmax(a, double(b)); }
inline unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned umax(unsigned a, unsigned b) { return a > b ? a : b; }
inline long long llmin(long long a, long long b) { return a < b ? a : b; }
inline long long llmax(long long a, long long b) { return a > b ? a : b; }
inline unsigned long long ullmin(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
inline unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a > b ? a : b; }

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / ::sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
inline double rcbrt(double x) { return 1.0 / ::cbrt(x); }
inline float rcbrt(float x) { return rcbrtf(x); }

namespace polytile_emulator {

constexpr double kPi = 3.14159265358979323846;

// The argument is reduced before it is multiplied, so that whole and half turns are exact.
inline double sine_of_pi(double x) {
  double r = ::remainder(x, 2.0);
  if (r > 0.5) r = 1.0 - r;
  if (r < -0.5) r = -1.0 - r;
  return ::sin(kPi * r);
}
inline double cosine_of_pi(double x) {
  const double r = ::fabs(::remainder(x, 2.0));
  return r == 0.5 ? 0.0 : ::cos(kPi * r);
}

}  // namespace polytile_emulator

inline double sinpi(double x) { return polytile_emulator::sine_of_pi(x); }
inline double cospi(double x) { return polytile_emulator::cosine_of_pi(x); }
inline float sinpif(float x) { return static_cast<float>(polytile_emulator::sine_of_pi(double(x))); }
inline float cospif(float x) { return static_cast<float>(polytile_emulator::cosine_of_pi(double(x))); }
inline float sinpi(float x) { return sinpif(x); }
inline float cospi(float x) { return cospif(x); }
inline void sincos(float x, float *s, float *c) { *s = sinf(x), *c = cosf(x); }
#if !defined(__USE_GNU)
inline void sincos(double x, double *s, double *c) { *s = ::sin(x), *c = ::cos(x); }
inline void sincosf(float x, float *s, float *c) { *s = sinf(x), *c = cosf(x); }
inline double exp10(double x) { return ::pow(10.0, x); }
inline float exp10f(float x) { return powf(10.0f, x); }
#endif
inline float exp10(float x) { return exp10f(x); }
inline float fdividef(float x, float y) { return x / y; }
inline float fdivide(float x, float y) { return x / y; }
inline double fdivide(double x, double y) { return x / y; }
inline double normcdf(double x) { return 0.5 * ::erfc(-x * 0.70710678118654752440); }
inline float normcdff(float x) { return static_cast<float>(normcdf(double(x))); }
inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
inline float saturate(float x) { return __saturatef(x); }

// Rounding to nearest even, stated: never contracted, like all that is compiled here.
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dsub_rn(double x, double y) { return x - y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __ddiv_rn(double x, double y) { return x / y; }
inline double __drcp_rn(double x) { return 1.0 / x; }
inline double __dsqrt_rn(double x) { return ::sqrt(x); }
inline double __fma_rn(double x, double y, double z) { return ::fma(x, y, z); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frsqrt_rn(float x) { return static_cast<float>(1.0 / ::sqrt(double(x))); }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }

// The fast intrinsics, here as exact as the others. glibc declares these names without offering them.
inline float __fdividef(float x, float y) { return x / y; }
#define __expf expf
#define __exp10f exp10f
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __powf powf
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __sincosf sincosf

// Grows with every call, and is the same in every run.
inline long long clock64() {
  static long long ticks = 0;
  return ticks += 4;
}

#endif
