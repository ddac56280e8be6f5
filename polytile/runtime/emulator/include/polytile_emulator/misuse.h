// What a kernel does wrong when it uses copies, split barriers or matrix products: a finding in a checked build, after
// which the kernel goes on; the end of the launch in any other.
#ifndef POLYTILE_EMULATOR_MISUSE_H
#define POLYTILE_EMULATOR_MISUSE_H

#pragma GCC visibility push(hidden)

namespace polytile_emulator {

enum class Misuse : unsigned char { use, order };  // of a function; of what threads do at the same time

#if defined(POLYTILE_EMULATOR_CHECK) && !defined(POLYTILE_EMULATOR_APART)
// In misused.h.
POLYTILE_EMULATOR_QUIET inline void record_misuse(Misuse kind, const Site &site, const char *text);
#endif

// `format` says what the running thread does: "awaits a split barrier ...".
__attribute__((format(printf, 3, 4))) POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE void misuse(Misuse kind,
                                                                                  const Site &site,
                                                                                  const char *format, ...);

#if !defined(POLYTILE_EMULATOR_APART)
POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE void misuse(Misuse kind, const Site &site, const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
#if defined(POLYTILE_EMULATOR_CHECK)
  record_misuse(kind, site, text);
#else
  (void)kind;
  char whole[1024];
  snprintf(whole, sizeof whole, "thread (%u,%u,%u) %s, at %s:%d,", threadIdx.x, threadIdx.y, threadIdx.z, text,
           site.file, site.line);
  fail(whole, site.function);
#endif
}
#endif

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"  // compilers of some systems warn where there are no arguments
// A misuse after which there is no going on.
template <class... Arguments>
[[noreturn]] POLYTILE_EMULATOR_QUIET inline void fatal_misuse(const Site &site, const char *format,
                                                              Arguments... arguments) {
  misuse(Misuse::use, site, format, arguments...);
  abandon_block();
}
#pragma GCC diagnostic pop

}  // namespace polytile_emulator

#pragma GCC visibility pop

// Where a function that is never inlined in observed builds was called.
#define POLYTILE_EMULATOR_CALLER \
  polytile_emulator::Site {                                                                           \
    site_file, site_function, site_line, reinterpret_cast<uintptr_t>(__builtin_return_address(0)) \
  }

#endif
