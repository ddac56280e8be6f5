// Integer and bit intrinsics, conversions, and casts between representations.
#ifndef POLYTILE_EMULATOR_INTRINSICS_H
#define POLYTILE_EMULATOR_INTRINSICS_H

namespace polytile_emulator {

template <class To, class From>
inline To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

// Conversions to an integer type clamp, and map NaN to 0, as the GPU's do (64-bit ones give INT64_MIN for NaN).
template <class To>
inline To clamp_to(double value) {
  constexpr bool is_signed = To(-1) < To(0);
  constexpr int bits = 8 * sizeof(To) - (is_signed ? 1 : 0);
  constexpr To high = is_signed ? static_cast<To>(~0ull >> (64 - bits)) : static_cast<To>(~To(0));
  constexpr To low = is_signed ? static_cast<To>(-high - 1) : To(0);
  if (value != value) return sizeof(To) == 8 ? static_cast<To>(1ull << 63) : To(0);
  if (value >= ldexp(1.0, bits)) return high;
  if (value <= static_cast<double>(low)) return low;
  return static_cast<To>(value);
}

}  // namespace polytile_emulator

inline int __float_as_int(float x) { return polytile_emulator::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return polytile_emulator::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return polytile_emulator::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return polytile_emulator::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return polytile_emulator::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return polytile_emulator::bit_cast<double>(x); }
inline int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
inline double __hiloint2double(int high, int low) {
  return __longlong_as_double(static_cast<long long>(static_cast<unsigned long long>(high) << 32 |
                                                     static_cast<unsigned>(low)));
}

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned long long __brevll(unsigned long long x) {
  unsigned long long y = 0;
  for (int i = 0; i < 64; ++i) y |= (x >> i & 1) << (63 - i);
  return y;
}
inline unsigned __brev(unsigned x) { return static_cast<unsigned>(__brevll(x) >> 32); }
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned code = selector >> (4 * i);
    unsigned byte = static_cast<unsigned>(bytes >> (8 * (code & 7))) & 0xff;
    if (code & 8) byte = byte & 0x80 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31));
}

inline int __mulhi(int x, int y) { return static_cast<int>(static_cast<long long>(x) * y >> 32); }
inline unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32);
}
inline long long __mul64hi(long long x, long long y) {
  return static_cast<long long>(static_cast<__int128>(x) * y >> 64);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}
inline int __mul24(int x, int y) {
  const long long a = static_cast<int>(static_cast<unsigned>(x) << 8) >> 8;
  const long long b = static_cast<int>(static_cast<unsigned>(y) << 8) >> 8;
  return static_cast<int>(a * b);
}
inline unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffff) * (y & 0xffffff); }
inline unsigned __sad(int x, int y, unsigned z) {
  return z + (x > y ? static_cast<unsigned>(x) - static_cast<unsigned>(y) : static_cast<unsigned>(y) - static_cast<unsigned>(x));
}

// __double2int_rd and its kin: round down, up, to nearest even, towards zero.
#define POLYTILE_EMULATOR_TO(from, F, to, T)                                                          \
  inline T __##from##2##to##_rd(F x) { return polytile_emulator::clamp_to<T>(::floor(double(x))); }   \
  inline T __##from##2##to##_ru(F x) { return polytile_emulator::clamp_to<T>(::ceil(double(x))); }    \
  inline T __##from##2##to##_rn(F x) { return polytile_emulator::clamp_to<T>(::nearbyint(double(x))); } \
  inline T __##from##2##to##_rz(F x) { return polytile_emulator::clamp_to<T>(::trunc(double(x))); }
#define POLYTILE_EMULATOR_TO_INTEGERS(from, F)            \
  POLYTILE_EMULATOR_TO(from, F, int, int)                 \
  POLYTILE_EMULATOR_TO(from, F, uint, unsigned)           \
  POLYTILE_EMULATOR_TO(from, F, ll, long long)            \
  POLYTILE_EMULATOR_TO(from, F, ull, unsigned long long)
POLYTILE_EMULATOR_TO_INTEGERS(float, float)
POLYTILE_EMULATOR_TO_INTEGERS(double, double)
#undef POLYTILE_EMULATOR_TO
#undef POLYTILE_EMULATOR_TO_INTEGERS

inline float __double2float_rn(double x) { return static_cast<float>(x); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
inline double __ll2double_rn(long long x) { return static_cast<double>(x); }
inline double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }

#endif
