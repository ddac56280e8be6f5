// The built-in vector types, with the alignment that CUDA gives them.
#ifndef POLYTILE_EMULATOR_VECTOR_TYPES_H
#define POLYTILE_EMULATOR_VECTOR_TYPES_H

#define POLYTILE_EMULATOR_VECTOR(T, name, align2, align4)                                                   \
  struct name##1 { T x; };                                                                                \
  struct __attribute__((aligned(align2))) name##2 { T x, y; };                                            \
  struct name##3 { T x, y, z; };                                                                          \
  struct __attribute__((aligned(align4))) name##4 { T x, y, z, w; };                                      \
  static inline name##1 make_##name##1(T x) { return {x}; }                                               \
  static inline name##2 make_##name##2(T x, T y) { return {x, y}; }                                       \
  static inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                               \
  static inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

POLYTILE_EMULATOR_VECTOR(signed char, char, 2, 4)
POLYTILE_EMULATOR_VECTOR(unsigned char, uchar, 2, 4)
POLYTILE_EMULATOR_VECTOR(short, short, 4, 8)
POLYTILE_EMULATOR_VECTOR(unsigned short, ushort, 4, 8)
POLYTILE_EMULATOR_VECTOR(int, int, 8, 16)
POLYTILE_EMULATOR_VECTOR(unsigned int, uint, 8, 16)
POLYTILE_EMULATOR_VECTOR(long, long, 16, 16)
POLYTILE_EMULATOR_VECTOR(unsigned long, ulong, 16, 16)
POLYTILE_EMULATOR_VECTOR(long long, longlong, 16, 16)
POLYTILE_EMULATOR_VECTOR(unsigned long long, ulonglong, 16, 16)
POLYTILE_EMULATOR_VECTOR(float, float, 8, 16)
POLYTILE_EMULATOR_VECTOR(double, double, 16, 16)

#undef POLYTILE_EMULATOR_VECTOR

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

#endif
