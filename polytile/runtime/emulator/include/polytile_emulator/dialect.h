// The keywords of CUDA C++.
#ifndef POLYTILE_EMULATOR_DIALECT_H
#define POLYTILE_EMULATOR_DIALECT_H

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __forceinline__ inline __attribute__((always_inline))
// Empty, because the C++ library writes __attribute__((__noinline__)), which must stay an attribute.
#define __noinline__

#if !defined(__clang__)
#define __builtin_assume(condition) ((void)0)
#endif

// `__shared__ float a[32];` is a static array, as blocks run one after another. `extern __shared__ float b[];` names
// memory that the launch provides; C++ has no word that means `static` in the first and nothing in the second, so the
// build passes, for each line L with the second, -DPOLYTILE_EMULATOR_EXTERN_AT_L=~, and
// -DPOLYTILE_EMULATOR_EXTERN_NAMES=POLYTILE_EMULATOR_ALIAS(b)... for the names.
#define POLYTILE_EMULATOR_PASTE_(a, b) a##b
#define POLYTILE_EMULATOR_PASTE(a, b) POLYTILE_EMULATOR_PASTE_(a, b)
#define POLYTILE_EMULATOR_SECOND_(first, second, ...) second
#define POLYTILE_EMULATOR_SECOND(...) POLYTILE_EMULATOR_SECOND_(__VA_ARGS__)
#define __shared__ \
  POLYTILE_EMULATOR_SECOND(POLYTILE_EMULATOR_PASTE(POLYTILE_EMULATOR_EXTERN_AT_, __LINE__), POLYTILE_EMULATOR_FIXED, )
// Shared memory must be told from other variables by observers, and where blocks take turns (grid.h). No variable may
// have the name of the section: an alias of dynamic shared memory with that name would be the section.
#define POLYTILE_EMULATOR_FIXED static __attribute__((section("polytile_fixed")))

#if !defined(POLYTILE_EMULATOR_APART)  // else included by the build: a precompiled header knows nothing of one .cu
#include "polytile_emulator/dynamic_shared.h"
#endif

// Parameters that tell a function where it was called: put them last.
#define POLYTILE_EMULATOR_SITE                                                                       \
  const char *site_file = __builtin_FILE(), const char *site_function = __builtin_FUNCTION(), \
  int site_line = __builtin_LINE()

#endif
