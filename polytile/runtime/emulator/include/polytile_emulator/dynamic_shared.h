// Dynamic shared memory, and the names that a .cu has for it. Only this header knows the macro of these names: where
// another header did, gcc would not use a precompiled one.
#ifndef POLYTILE_EMULATOR_DYNAMIC_SHARED_H
#define POLYTILE_EMULATOR_DYNAMIC_SHARED_H

#if defined(POLYTILE_EMULATOR_EXTERN_NAMES) || defined(POLYTILE_EMULATOR_OBJECT)
#define POLYTILE_EMULATOR_DYNAMIC_SHARED 1
#endif

#if defined(POLYTILE_EMULATOR_EXTERN_NAMES)
#define POLYTILE_EMULATOR_MAX_DYNAMIC_SHARED (227 * 1024)
#if defined(POLYTILE_EMULATOR_APART)
#define POLYTILE_EMULATOR_LINKAGE __attribute__((visibility("hidden")))
#else
#define POLYTILE_EMULATOR_LINKAGE static  // one per translation unit: the names below are local to it
#endif
__attribute__((used, aligned(1024))) POLYTILE_EMULATOR_LINKAGE unsigned char polytile_emulator_dynamic_shared_memory
    [POLYTILE_EMULATOR_MAX_DYNAMIC_SHARED] __asm__("polytile_emulator_dynamic_shared");
#define POLYTILE_EMULATOR_ALIAS(name) __asm__(".set " #name ", polytile_emulator_dynamic_shared");
POLYTILE_EMULATOR_EXTERN_NAMES
#elif defined(POLYTILE_EMULATOR_OBJECT)
// Null where the .cu has none.
extern __attribute__((weak, visibility("hidden"))) unsigned char polytile_emulator_dynamic_shared_memory[] __asm__(
    "polytile_emulator_dynamic_shared");
#endif

#endif
