// The functions that -fsanitize=thread has the compiler call, defined here in place of libtsan.
#ifndef POLYTILE_EMULATOR_INSTRUMENT_H
#define POLYTILE_EMULATOR_INSTRUMENT_H

#pragma GCC visibility push(hidden)

namespace polytile_emulator {

POLYTILE_EMULATOR_QUIET inline bool within_bytes(uintptr_t address, const void *base, size_t size) {
  return address - reinterpret_cast<uintptr_t>(base) < size;
}

// What belongs to the running thread alone: its stack, its arguments, its coordinates.
POLYTILE_EMULATOR_QUIET inline bool is_own(uintptr_t address) {
  return within_bytes(address, block.fiber->stack, block.fiber->size) ||
         within_bytes(address, block.body.self, block.body.size) ||
         within_bytes(address, &threadIdx, sizeof threadIdx) || within_bytes(address, &blockIdx, sizeof blockIdx) ||
         within_bytes(address, &blockDim, sizeof blockDim) || within_bytes(address, &gridDim, sizeof gridDim);
}

POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE void on_access(uintptr_t address, unsigned size, AccessKind kind, uintptr_t site) {
  if (observing && !is_own(address)) observer::access(address, size, kind, site);
}

}  // namespace polytile_emulator

#pragma GCC visibility pop

#define POLYTILE_EMULATOR_CALLED \
  extern "C" __attribute__((weak, used, noinline, visibility("hidden"))) POLYTILE_EMULATOR_QUIET
#define POLYTILE_EMULATOR_ON_ACCESS(size, kind)                                                   \
  polytile_emulator::on_access(reinterpret_cast<uintptr_t>(address), static_cast<unsigned>(size), \
                               polytile_emulator::AccessKind::kind,                               \
                               reinterpret_cast<uintptr_t>(__builtin_return_address(0)))

// Fibers switch stacks and may never return, so there is no stack of calls to be kept.
POLYTILE_EMULATOR_CALLED void __tsan_init() {}
POLYTILE_EMULATOR_CALLED void __tsan_func_entry(void *) {}
POLYTILE_EMULATOR_CALLED void __tsan_func_exit() {}
POLYTILE_EMULATOR_CALLED void __tsan_vptr_update(void **, void *) {}
POLYTILE_EMULATOR_CALLED void __tsan_vptr_read(void **) {}

#define POLYTILE_EMULATOR_ACCESSES(n)                                                                            \
  POLYTILE_EMULATOR_CALLED void __tsan_read##n(void *address) { POLYTILE_EMULATOR_ON_ACCESS(n, read); }          \
  POLYTILE_EMULATOR_CALLED void __tsan_write##n(void *address) { POLYTILE_EMULATOR_ON_ACCESS(n, write); }        \
  POLYTILE_EMULATOR_CALLED void __tsan_volatile_read##n(void *address) { POLYTILE_EMULATOR_ON_ACCESS(n, read); } \
  POLYTILE_EMULATOR_CALLED void __tsan_volatile_write##n(void *address) { POLYTILE_EMULATOR_ON_ACCESS(n, write); }
#define POLYTILE_EMULATOR_UNALIGNED(n)                                                                              \
  POLYTILE_EMULATOR_CALLED void __tsan_unaligned_read##n(void *address) { POLYTILE_EMULATOR_ON_ACCESS(n, read); }   \
  POLYTILE_EMULATOR_CALLED void __tsan_unaligned_write##n(void *address) { POLYTILE_EMULATOR_ON_ACCESS(n, write); } \
  POLYTILE_EMULATOR_CALLED void __tsan_read_write##n(void *address) {                                               \
    POLYTILE_EMULATOR_ON_ACCESS(n, read);                                                                           \
    POLYTILE_EMULATOR_ON_ACCESS(n, write);                                                                          \
  }

POLYTILE_EMULATOR_ACCESSES(1)
POLYTILE_EMULATOR_ACCESSES(2)
POLYTILE_EMULATOR_ACCESSES(4)
POLYTILE_EMULATOR_ACCESSES(8)
POLYTILE_EMULATOR_ACCESSES(16)
POLYTILE_EMULATOR_UNALIGNED(1)
POLYTILE_EMULATOR_UNALIGNED(2)
POLYTILE_EMULATOR_UNALIGNED(4)
POLYTILE_EMULATOR_UNALIGNED(8)
POLYTILE_EMULATOR_UNALIGNED(16)

POLYTILE_EMULATOR_CALLED void __tsan_read_range(void *address, unsigned long size) {
  POLYTILE_EMULATOR_ON_ACCESS(size, read);
}
POLYTILE_EMULATOR_CALLED void __tsan_write_range(void *address, unsigned long size) {
  POLYTILE_EMULATOR_ON_ACCESS(size, write);
}

// Accesses through __atomic builtins and std::atomic.
#define POLYTILE_EMULATOR_FETCH(bits, T, name)                                                       \
  POLYTILE_EMULATOR_CALLED T __tsan_atomic##bits##_fetch_##name(volatile T *address, T value, int) { \
    POLYTILE_EMULATOR_ON_ACCESS(bits / 8, atomic);                                                   \
    return __atomic_fetch_##name(address, value, __ATOMIC_SEQ_CST);                                  \
  }
#define POLYTILE_EMULATOR_COMPARE(bits, T, name, weak)                                                         \
  POLYTILE_EMULATOR_CALLED int __tsan_atomic##bits##_compare_exchange_##name(volatile T *address, T *expected, \
                                                                             T value, int, int) {              \
    POLYTILE_EMULATOR_ON_ACCESS(bits / 8, atomic);                                                             \
    return __atomic_compare_exchange_n(address, expected, value, weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);    \
  }
#define POLYTILE_EMULATOR_ATOMICS_OF(bits, T)                                                    \
  POLYTILE_EMULATOR_CALLED T __tsan_atomic##bits##_load(const volatile T *address, int) {        \
    POLYTILE_EMULATOR_ON_ACCESS(bits / 8, atomic);                                               \
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                           \
  }                                                                                              \
  POLYTILE_EMULATOR_CALLED void __tsan_atomic##bits##_store(volatile T *address, T value, int) { \
    POLYTILE_EMULATOR_ON_ACCESS(bits / 8, atomic);                                               \
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                          \
  }                                                                                              \
  POLYTILE_EMULATOR_CALLED T __tsan_atomic##bits##_exchange(volatile T *address, T value, int) { \
    POLYTILE_EMULATOR_ON_ACCESS(bits / 8, atomic);                                               \
    return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);                                \
  }                                                                                              \
  POLYTILE_EMULATOR_FETCH(bits, T, add)                                                          \
  POLYTILE_EMULATOR_FETCH(bits, T, sub)                                                          \
  POLYTILE_EMULATOR_FETCH(bits, T, and)                                                          \
  POLYTILE_EMULATOR_FETCH(bits, T, or)                                                           \
  POLYTILE_EMULATOR_FETCH(bits, T, xor)                                                          \
  POLYTILE_EMULATOR_FETCH(bits, T, nand)                                                         \
  POLYTILE_EMULATOR_COMPARE(bits, T, strong, false)                                              \
  POLYTILE_EMULATOR_COMPARE(bits, T, weak, true)

POLYTILE_EMULATOR_ATOMICS_OF(8, unsigned char)
POLYTILE_EMULATOR_ATOMICS_OF(16, unsigned short)
POLYTILE_EMULATOR_ATOMICS_OF(32, unsigned)
POLYTILE_EMULATOR_ATOMICS_OF(64, unsigned long)

POLYTILE_EMULATOR_CALLED void __tsan_atomic_thread_fence(int) {}
POLYTILE_EMULATOR_CALLED void __tsan_atomic_signal_fence(int) {}

#undef POLYTILE_EMULATOR_ATOMICS_OF
#undef POLYTILE_EMULATOR_COMPARE
#undef POLYTILE_EMULATOR_FETCH
#undef POLYTILE_EMULATOR_ACCESSES
#undef POLYTILE_EMULATOR_UNALIGNED
#undef POLYTILE_EMULATOR_ON_ACCESS
#undef POLYTILE_EMULATOR_CALLED

#endif
