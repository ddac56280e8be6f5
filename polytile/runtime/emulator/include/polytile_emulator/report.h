// What is said when a block cannot go on: to standard error, and kept for polytile_emulator_message().
#ifndef POLYTILE_EMULATOR_REPORT_H
#define POLYTILE_EMULATOR_REPORT_H

#include <cxxabi.h>
#include <dlfcn.h>
#include <stdarg.h>

#pragma GCC visibility push(hidden)

namespace polytile_emulator {

[[noreturn]] POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE void fail(const char *what, const char *function);

#if !defined(POLYTILE_EMULATOR_APART)

class Message {
 public:
  POLYTILE_EMULATOR_QUIET void clear() { length_ = 0, text_[0] = 0; }
  POLYTILE_EMULATOR_QUIET const char *text() const { return text_; }

  __attribute__((format(printf, 2, 3))) POLYTILE_EMULATOR_QUIET void add(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text_ + length_, sizeof text_ - length_, format, arguments);
    va_end(arguments);
    if (n > 0) length_ += static_cast<size_t>(n);
    if (length_ >= sizeof text_) length_ = sizeof text_ - 1;
  }

  // The name of the kernel's function; of the function where a thread waits, when the symbol is not to be seen.
  POLYTILE_EMULATOR_QUIET void add_kernel(const void *kernel, const char *otherwise) {
    Dl_info info;
    if (!dladdr(const_cast<void *>(kernel), &info) || info.dli_saddr != kernel || !info.dli_sname)
      return add("kernel `%s`", otherwise ? otherwise : "?");
    int status = 0;
    char *plain = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
    add("kernel `%s`", plain ? plain : info.dli_sname);
    free(plain);
  }

 private:
  size_t length_ = 0;
  char text_[4096] = {};
};

inline Message message;

POLYTILE_EMULATOR_QUIET inline const char *operation_name(unsigned char operation);

POLYTILE_EMULATOR_QUIET inline void add_range(unsigned first, unsigned last) {
  if (first == last)
    message.add("%u", first);
  else
    message.add("%u-%u", first, last);
}

POLYTILE_EMULATOR_QUIET inline bool waits_alike(const Thread &a, const Thread &b) {
  if (a.state != b.state) return false;
  if (a.state == State::exited || a.state == State::runnable) return true;
  if (a.state == State::warp && (a.operation != b.operation || a.mask != b.mask)) return false;
  return same_site(a.site, b.site);
}

POLYTILE_EMULATOR_QUIET inline void add_state(const Thread &thread) {
  const Site &site = thread.site;
  switch (thread.state) {
    case State::barrier:
      return message.add("wait in __syncthreads at %s:%d (`%s`)", site.file, site.line, site.function);
    case State::warp:
      return message.add("wait in %s, mask 0x%08x, at %s:%d (`%s`)", operation_name(thread.operation), thread.mask,
                         site.file, site.line, site.function);
    case State::split:
      return message.add("wait for a split barrier at %s:%d (`%s`)", site.file, site.line, site.function);
    case State::grid:
      return message.add("wait at the barrier of the grid at %s:%d (`%s`)", site.file, site.line, site.function);
    case State::yielded:
      return message.add("spin at %s:%d (`%s`)", site.file, site.line, site.function);
    case State::exited:
      return message.add("have ended");
    default:
      return message.add("were running");
  }
}

// One line per group of threads that wait for the same thing: `threads 0-31,64: wait in ...`.
POLYTILE_EMULATOR_QUIET inline void add_threads() {
  bool told[kMaxThreads] = {};
  unsigned lines = 0;
  for (unsigned t = 0; t < block.started; ++t) {
    if (told[t]) continue;
    if (lines++ == 12) return message.add("  ...\n");
    message.add("  threads ");
    unsigned ranges = 0;
    for (unsigned u = t; u < block.started; ++u) {
      if (told[u] || !waits_alike(block.thread[t], block.thread[u])) continue;
      unsigned last = u;
      while (last + 1 < block.started && waits_alike(block.thread[t], block.thread[last + 1])) ++last;
      for (unsigned v = u; v <= last; ++v) told[v] = true;
      if (ranges) message.add(ranges < 8 ? "," : ranges == 8 ? ",..." : "");
      if (ranges++ < 8) add_range(u, last);
      u = last;
    }
    message.add(" ");
    add_state(block.thread[t]);
    message.add("\n");
  }
}

POLYTILE_EMULATOR_QUIET inline const char *waiting_function() {
  for (unsigned t = 0; t < block.started; ++t) {
    const State state = block.thread[t].state;
    if (state != State::unstarted && state != State::runnable && state != State::exited)
      return block.thread[t].site.function;
  }
  return nullptr;
}

POLYTILE_EMULATOR_QUIET inline void report(const char *what, const char *function) {
  message.clear();
  message.add("polytile emulator: %s in ", what);
  message.add_kernel(block.body.kernel, function);
  message.add(", block (%u,%u,%u) of %ux%ux%u threads\n", blockIdx.x, blockIdx.y, blockIdx.z, blockDim.x, blockDim.y,
              blockDim.z);
  add_threads();
  fputs(message.text(), stderr);
  fflush(stderr);
}

[[noreturn]] POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE void fail(const char *what, const char *function) {
  report(what, function);
  abandon_block();
}

[[noreturn]] POLYTILE_EMULATOR_QUIET inline void fail_stuck() { fail("deadlock", waiting_function()); }
[[noreturn]] POLYTILE_EMULATOR_QUIET inline void fail_diverged() {
  fail("barrier divergence (threads of one block wait at different barriers)", waiting_function());
}
[[noreturn]] POLYTILE_EMULATOR_QUIET inline void fail_no_memory() { fail("no memory for the stack of a thread", waiting_function()); }

POLYTILE_EMULATOR_QUIET inline bool report_no_memory() {
  block.started = 0;
  report("no memory for the stack of a thread", nullptr);
  return false;
}

#endif

}  // namespace polytile_emulator

#pragma GCC visibility pop

#endif
