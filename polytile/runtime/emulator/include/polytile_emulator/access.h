// What a kernel does to memory, and when: the one door through which instrumented builds see it.
//
// A plain build has none of this. A checked build (POLYTILE_EMULATOR_CHECK) or a counting one (POLYTILE_EMULATOR_COUNT)
// compiles the same .cu with -fsanitize=thread, so that the compiler calls a function before each access to memory, and
// does not link libtsan: instrument.h defines those functions, which end in on_access() below.
//
// An observer is one header, included at the end of cuda_runtime.h in its own kind of build: shadow.h (races,
// addresses, initialisation) or count.h. It defines every function of namespace `observer` below, all QUIET; what it
// has no use for is left empty. What it may ask: block.current (the running thread, by its linear index), threadIdx,
// blockIdx, blockDim, gridDim, block.body (the kernel, and its pointer arguments in order), block.dynamic_shared
// (bytes), and ranges (device memory). A site is the return address of the compiler's call; offset_of(site) is where
// that is in the library, which sites.py turns into a line of the .cu, and further into one of the C file.
//
// All calls come from the one host thread that runs the launch; those between launch_begins() and launch_ends() of one
// block are in the order in which the emulated threads ran. A site may be met by the lanes of a warp one after another;
// trace.h puts them together.
#ifndef POLYTILE_EMULATOR_ACCESS_H
#define POLYTILE_EMULATOR_ACCESS_H

#if defined(POLYTILE_EMULATOR_CHECK) || defined(POLYTILE_EMULATOR_COUNT)
#define POLYTILE_EMULATOR_OBSERVED 1
#endif

// Functions of the emulator that run inside kernels: never instrumented, nor inlined into what is.
#if !defined(POLYTILE_EMULATOR_OBSERVED)
#define POLYTILE_EMULATOR_QUIET
#elif defined(__clang__)
#define POLYTILE_EMULATOR_QUIET __attribute__((no_sanitize("thread", "undefined", "bounds", "coverage")))
#elif defined(POLYTILE_EMULATOR_COUNT)
#define POLYTILE_EMULATOR_QUIET __attribute__((no_sanitize("thread"), no_sanitize_coverage))
#else
#define POLYTILE_EMULATOR_QUIET \
  __attribute__((no_sanitize("thread", "undefined", "bounds-strict", "float-cast-overflow")))
#endif

// Functions that a .cu calls and that bring the rest of the emulator with them. Libraries can share one object that has
// them (POLYTILE_EMULATOR_OBJECT when it is compiled, from this header alone); each .cu is then compiled apart from it
// (POLYTILE_EMULATOR_APART) and sees their declarations only.
#if defined(POLYTILE_EMULATOR_APART)
#define POLYTILE_EMULATOR_CORE
#elif defined(POLYTILE_EMULATOR_OBJECT)
#define POLYTILE_EMULATOR_CORE __attribute__((used)) inline
#else
#define POLYTILE_EMULATOR_CORE inline
#endif

#pragma GCC visibility push(hidden)

#if defined(POLYTILE_EMULATOR_OBSERVED)
extern "C" char __ehdr_start[];  // where the library begins
#endif

namespace polytile_emulator {

enum class AccessKind : unsigned char { read, write, atomic };

struct Site;

#if !defined(POLYTILE_EMULATOR_APART)
namespace observer {

#if defined(POLYTILE_EMULATOR_OBSERVED)
#define POLYTILE_EMULATOR_HOOK_BODY ;
#else
#define POLYTILE_EMULATOR_HOOK_BODY {}
#endif

// A launch that was accepted, and its end (also when it failed). block.body, gridDim and blockDim are set.
POLYTILE_EMULATOR_QUIET inline void launch_begins() POLYTILE_EMULATOR_HOOK_BODY
POLYTILE_EMULATOR_QUIET inline void launch_ends() POLYTILE_EMULATOR_HOOK_BODY
// A block; blocks run one after another, or take turns at barriers of the grid (grid.h has more functions for that, as
// have copies.h and split_barrier.h for theirs). block_ends() does not come when the block failed.
POLYTILE_EMULATOR_QUIET inline void block_begins() POLYTILE_EMULATOR_HOOK_BODY
POLYTILE_EMULATOR_QUIET inline void block_ends() POLYTILE_EMULATOR_HOOK_BODY
// block.current starts, or has run to its end.
POLYTILE_EMULATOR_QUIET inline void thread_begins() POLYTILE_EMULATOR_HOOK_BODY
POLYTILE_EMULATOR_QUIET inline void thread_ends() POLYTILE_EMULATOR_HOOK_BODY
// All threads of the block that have not ended are at a barrier (__syncthreads and its kin), which opens now.
POLYTILE_EMULATOR_QUIET inline void barrier_opens() POLYTILE_EMULATOR_HOOK_BODY
// The lanes of a warp are at a warp operation (see Operation in warp.h), which concludes now.
POLYTILE_EMULATOR_QUIET inline void warp_concludes(unsigned, unsigned char, unsigned) POLYTILE_EMULATOR_HOOK_BODY
// block.current is about to access `size` bytes at `address`, which are not its own: neither on its stack nor among its
// arguments or coordinates.
POLYTILE_EMULATOR_QUIET inline void access(uintptr_t, unsigned, AccessKind, uintptr_t) POLYTILE_EMULATOR_HOOK_BODY
// Device memory from the host: allocated, about to be freed, written with known values, copied, about to be read.
POLYTILE_EMULATOR_QUIET inline void allocated(const void *, size_t) POLYTILE_EMULATOR_HOOK_BODY
POLYTILE_EMULATOR_QUIET inline void freed(const void *, size_t) POLYTILE_EMULATOR_HOOK_BODY
POLYTILE_EMULATOR_QUIET inline void filled(const void *, size_t) POLYTILE_EMULATOR_HOOK_BODY
POLYTILE_EMULATOR_QUIET inline void copied(const void *, const void *, size_t) POLYTILE_EMULATOR_HOOK_BODY

#undef POLYTILE_EMULATOR_HOOK_BODY

}  // namespace observer
#endif

// Whether a block runs; host code is not observed.
inline bool observing = false;

// Every access of a kernel that the compiler or the emulator's own atomics announce comes through here.
POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE void on_access(uintptr_t address, unsigned size, AccessKind kind, uintptr_t site);

#if defined(POLYTILE_EMULATOR_OBSERVED)
// The offset of the instruction before `site` in the library, as addr2line and nm count.
POLYTILE_EMULATOR_QUIET inline unsigned offset_of(uintptr_t site) {
  return static_cast<unsigned>(site - 1 - reinterpret_cast<uintptr_t>(__ehdr_start));
}
#endif

}  // namespace polytile_emulator

// For the emulator's own functions that access memory on behalf of the kernel: they announce it themselves.
#if defined(POLYTILE_EMULATOR_OBSERVED)
#define POLYTILE_EMULATOR_ACCESSOR POLYTILE_EMULATOR_QUIET __attribute__((noinline))
#define POLYTILE_EMULATOR_ANNOUNCE(address, kind)                                       \
  polytile_emulator::on_access(reinterpret_cast<uintptr_t>(address), sizeof *(address), \
                               polytile_emulator::AccessKind::kind,                     \
                               reinterpret_cast<uintptr_t>(__builtin_return_address(0)))
#else
#define POLYTILE_EMULATOR_ACCESSOR
#define POLYTILE_EMULATOR_ANNOUNCE(address, kind) ((void)0)
#endif

#pragma GCC visibility pop

#endif
