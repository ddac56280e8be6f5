// Fibers: stacks with a guard page, made once and pooled.
#ifndef POLYTILE_EMULATOR_FIBER_H
#define POLYTILE_EMULATOR_FIBER_H

#include <sys/mman.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

namespace polytile_emulator {

struct Fiber {
  void *context;
  Fiber *next_free;
  char *stack;
  size_t size;
};

class FiberPool {
 public:
  // A fiber that will call entry, or that waits inside entry for its next thread. Null when there is no memory.
  POLYTILE_EMULATOR_QUIET Fiber *take() {
    if (Fiber *fiber = free_) {
      free_ = fiber->next_free;
      return fiber;
    }
    return make();
  }

  POLYTILE_EMULATOR_QUIET void give(Fiber *fiber) {
    fiber->next_free = free_;
    free_ = fiber;
  }

  // The fiber on whose stack an address is, or null.
  POLYTILE_EMULATOR_QUIET const Fiber *owner(uintptr_t address) const {
    for (unsigned i = 0; i < count_; ++i)
      if (address - reinterpret_cast<uintptr_t>(at(i).stack) < at(i).size) return &at(i);
    return nullptr;
  }

  // Forgets whatever the fibers were doing: they all start again from entry.
  POLYTILE_EMULATOR_QUIET void restart_all() {
    free_ = nullptr;
    for (unsigned i = count_; i-- > 0;) {
      prepare(i);
      give(&at(i));
    }
  }

  // Gives back the memory of all fibers beyond what one block needs; none of them is in use.
  POLYTILE_EMULATOR_QUIET void trim() {
    if (count_ <= kOneBlock) return;
    while (count_ > kOneBlock) {
      Fiber &fiber = at(--count_);
      munmap(fiber.stack - guard_size(), fiber.size + guard_size());
    }
    restart_all();
  }

  // Gives back the memory of all fibers; none of them is in use. Each takes two mappings, of which a process has so many
  // only, and each program that it runs has fibers of its own.
  POLYTILE_EMULATOR_QUIET void release() {
    while (count_ > 0) {
      Fiber &fiber = at(--count_);
      munmap(fiber.stack - guard_size(), fiber.size + guard_size());
    }
    free_ = nullptr;
  }

  constexpr explicit FiberPool(void (*entry)()) : entry_(entry) {}

  static constexpr unsigned kMax = 65536 + 1;  // the threads that may be under way at once, and one

 private:
  static constexpr unsigned kOneBlock = 1024 + 1;
  static constexpr unsigned kGuarded = 8192;  // fibers with a guard page: a process may have so many mappings only
  static constexpr unsigned kChunk = 1024;

  POLYTILE_EMULATOR_QUIET static size_t guard_size() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

  POLYTILE_EMULATOR_QUIET Fiber &at(unsigned index) const { return chunks_[index / kChunk][index % kChunk]; }

  POLYTILE_EMULATOR_QUIET static size_t stack_size() {
    const char *text = getenv("POLYTILE_EMULATOR_STACK_KIB");
    size_t kib = text ? strtoull(text, nullptr, 10) : 0;
    size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_t bytes = (kib < 16 || kib > 1024 * 1024 ? 256 : kib) * 1024;
    return (bytes + page - 1) / page * page;
  }

  // The tops of the stacks are spread over a page, lest they all compete for the same sets of the cache.
  POLYTILE_EMULATOR_QUIET void prepare(unsigned index) {
    Fiber &fiber = at(index);
    size_t colour = index * 320 % 4096 & ~size_t(63);
    fiber.context = prepare_context(fiber.stack, fiber.size - colour, entry_);
  }

  POLYTILE_EMULATOR_QUIET Fiber *make() {
    if (count_ == kMax) return nullptr;
    Fiber *&chunk = chunks_[count_ / kChunk];
    if (!chunk && !(chunk = static_cast<Fiber *>(calloc(kChunk, sizeof(Fiber))))) return nullptr;
    size_t guard = guard_size();
    size_t size = stack_size();
    void *base = mmap(nullptr, size + guard, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return nullptr;
    if (count_ < kGuarded) mprotect(base, guard, PROT_NONE);
    Fiber &fiber = at(count_);
    fiber.stack = static_cast<char *>(base) + guard;
    fiber.size = size;
    prepare(count_++);
    return &fiber;
  }

  void (*entry_)();
  Fiber *free_ = nullptr;
  unsigned count_ = 0;
  Fiber *chunks_[kMax / kChunk + 1] = {};
};

}  // namespace polytile_emulator

#pragma GCC visibility pop

#endif
