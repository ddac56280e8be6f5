// Atomics, fences, and loads and stores with a cache hint. All threads run on one host thread, so that an atomic is a
// read, a computation and a write.
#ifndef POLYTILE_EMULATOR_MEMORY_OPS_H
#define POLYTILE_EMULATOR_MEMORY_OPS_H

#define POLYTILE_EMULATOR_ATOMIC_(name, T, expression)            \
  POLYTILE_EMULATOR_ACCESSOR inline T name(T *address, T value) { \
    POLYTILE_EMULATOR_ANNOUNCE(address, atomic);                  \
    const T old = *address;                                       \
    *address = (expression);                                      \
    return old;                                                   \
  }
#define POLYTILE_EMULATOR_ATOMIC(name, T, expression)            \
  POLYTILE_EMULATOR_ATOMIC_(atomic##name, T, expression)         \
  POLYTILE_EMULATOR_ATOMIC_(atomic##name##_block, T, expression) \
  POLYTILE_EMULATOR_ATOMIC_(atomic##name##_system, T, expression)

// Signed additions wrap around.
POLYTILE_EMULATOR_ATOMIC(Add, int, static_cast<int>(static_cast<unsigned>(old) + static_cast<unsigned>(value)))
POLYTILE_EMULATOR_ATOMIC(Add, unsigned, old + value)
POLYTILE_EMULATOR_ATOMIC(Add, unsigned long long, old + value)
POLYTILE_EMULATOR_ATOMIC(Add, float, old + value)
POLYTILE_EMULATOR_ATOMIC(Add, double, old + value)
POLYTILE_EMULATOR_ATOMIC(Sub, int, static_cast<int>(static_cast<unsigned>(old) - static_cast<unsigned>(value)))
POLYTILE_EMULATOR_ATOMIC(Sub, unsigned, old - value)
POLYTILE_EMULATOR_ATOMIC(Exch, int, value)
POLYTILE_EMULATOR_ATOMIC(Exch, unsigned, value)
POLYTILE_EMULATOR_ATOMIC(Exch, unsigned long long, value)
POLYTILE_EMULATOR_ATOMIC(Exch, float, value)
POLYTILE_EMULATOR_ATOMIC(Inc, unsigned, old >= value ? 0u : old + 1)
POLYTILE_EMULATOR_ATOMIC(Dec, unsigned, old == 0 || old > value ? value : old - 1)

#define POLYTILE_EMULATOR_ATOMICS(T)                          \
  POLYTILE_EMULATOR_ATOMIC(Min, T, value < old ? value : old) \
  POLYTILE_EMULATOR_ATOMIC(Max, T, value > old ? value : old) \
  POLYTILE_EMULATOR_ATOMIC(And, T, old &value)                \
  POLYTILE_EMULATOR_ATOMIC(Or, T, old | value)                \
  POLYTILE_EMULATOR_ATOMIC(Xor, T, old ^ value)

POLYTILE_EMULATOR_ATOMICS(int)
POLYTILE_EMULATOR_ATOMICS(unsigned)
POLYTILE_EMULATOR_ATOMICS(long long)
POLYTILE_EMULATOR_ATOMICS(unsigned long long)

#define POLYTILE_EMULATOR_CAS_(name, T)                                      \
  POLYTILE_EMULATOR_ACCESSOR inline T name(T *address, T compare, T value) { \
    POLYTILE_EMULATOR_ANNOUNCE(address, atomic);                             \
    const T old = *address;                                                  \
    if (old == compare) *address = value;                                    \
    return old;                                                              \
  }
#define POLYTILE_EMULATOR_CAS(T)             \
  POLYTILE_EMULATOR_CAS_(atomicCAS, T)       \
  POLYTILE_EMULATOR_CAS_(atomicCAS_block, T) \
  POLYTILE_EMULATOR_CAS_(atomicCAS_system, T)

POLYTILE_EMULATOR_CAS(int)
POLYTILE_EMULATOR_CAS(unsigned)
POLYTILE_EMULATOR_CAS(unsigned short)
POLYTILE_EMULATOR_CAS(unsigned long long)

#undef POLYTILE_EMULATOR_ATOMIC_
#undef POLYTILE_EMULATOR_ATOMIC
#undef POLYTILE_EMULATOR_ATOMICS
#undef POLYTILE_EMULATOR_CAS_
#undef POLYTILE_EMULATOR_CAS

namespace polytile_emulator {

// Whether CUDA has loads and stores of a type with a cache hint. There are none of bool, long2 or double4.
template <class T, class... Types>
constexpr bool one_of = (__is_same(T, Types) || ...);
template <class T>
constexpr bool has_hints =
    one_of<T, char, signed char, unsigned char, short, unsigned short, int, unsigned, long, unsigned long, long long,
           unsigned long long, float, double, char2, char4, uchar2, uchar4, short2, short4, ushort2, ushort4, int2,
           int4, uint2, uint4, longlong2, ulonglong2, float2, float4, double2>;

}  // namespace polytile_emulator

#define POLYTILE_EMULATOR_LOAD(name)                                                                  \
  template <class T>                                                                                  \
  POLYTILE_EMULATOR_ACCESSOR inline T name(const T *address) {                                        \
    static_assert(polytile_emulator::has_hints<T>, "CUDA has no load of this type with a cache hint"); \
    POLYTILE_EMULATOR_ANNOUNCE(address, read);                                                        \
    return *address;                                                                                  \
  }
POLYTILE_EMULATOR_LOAD(__ldg)
POLYTILE_EMULATOR_LOAD(__ldca)
POLYTILE_EMULATOR_LOAD(__ldcg)
POLYTILE_EMULATOR_LOAD(__ldcs)
POLYTILE_EMULATOR_LOAD(__ldcv)
POLYTILE_EMULATOR_LOAD(__ldlu)
#undef POLYTILE_EMULATOR_LOAD

namespace polytile_emulator {

// The value's type comes from the address alone, so that `__stcs(&d, 0)` works as it does in CUDA.
template <class T>
struct Same {
  using type = T;
};

}  // namespace polytile_emulator

#define POLYTILE_EMULATOR_STORE(name)                                                                        \
  template <class T>                                                                                         \
  POLYTILE_EMULATOR_ACCESSOR inline void name(T *address, typename polytile_emulator::Same<T>::type value) { \
    static_assert(polytile_emulator::has_hints<T>, "CUDA has no store of this type with a cache hint");       \
    POLYTILE_EMULATOR_ANNOUNCE(address, write);                                                              \
    *address = value;                                                                                        \
  }
POLYTILE_EMULATOR_STORE(__stcg)
POLYTILE_EMULATOR_STORE(__stcs)
POLYTILE_EMULATOR_STORE(__stwb)
POLYTILE_EMULATOR_STORE(__stwt)
#undef POLYTILE_EMULATOR_STORE

inline void __threadfence() { __asm__ volatile("" ::: "memory"); }
inline void __threadfence_block() { __asm__ volatile("" ::: "memory"); }
inline void __threadfence_system() { __asm__ volatile("" ::: "memory"); }

#endif
