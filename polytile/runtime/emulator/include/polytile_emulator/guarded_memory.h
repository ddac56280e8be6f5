// Device memory of a checked build: each allocation lies between gaps that nobody may touch, as wide as itself and more,
// so that an access that misses it hits no other. Freed memory stays untouchable for a long while.
#ifndef POLYTILE_EMULATOR_GUARDED_MEMORY_H
#define POLYTILE_EMULATOR_GUARDED_MEMORY_H

#include <sys/mman.h>

#pragma GCC visibility push(hidden)

namespace polytile_emulator {

// Zeroed pages that take memory only where they are touched; null when there is none.
POLYTILE_EMULATOR_QUIET inline void *reserve_pages(size_t size, int protection) {
  void *pages = mmap(nullptr, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

class Guarded {
 public:
  static constexpr size_t kPage = 65536;  // a multiple of every page size
  static constexpr size_t kLeastGap = size_t(1) << 20;

  struct Freed {
    uintptr_t base;
    size_t size;
  };

  POLYTILE_EMULATOR_QUIET static size_t gap(size_t size) { return kLeastGap + rounded(size); }

  POLYTILE_EMULATOR_QUIET void *take(size_t size) {
    if (size > ~size_t(0) / 8) return nullptr;
    char *pages = static_cast<char *>(reserve_pages(rounded(size) + 2 * gap(size), PROT_NONE));
    if (!pages) return nullptr;
    char *memory = pages + gap(size);
    if (mprotect(memory, rounded(size), PROT_READ | PROT_WRITE) == 0) return memory;
    munmap(pages, rounded(size) + 2 * gap(size));
    return nullptr;
  }

  POLYTILE_EMULATOR_QUIET void give(void *memory, size_t size) {
    mmap(memory, rounded(size), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    Freed &oldest = freed_[next_++ % kQuarantine];
    if (oldest.size) munmap(reinterpret_cast<void *>(oldest.base - gap(oldest.size)), rounded(oldest.size) + 2 * gap(oldest.size));
    oldest = {reinterpret_cast<uintptr_t>(memory), size};
  }

  // The freed allocation that held an address, or null.
  POLYTILE_EMULATOR_QUIET const Freed *find(uintptr_t address) const {
    for (const Freed &freed : freed_)
      if (address - freed.base < freed.size) return &freed;
    return nullptr;
  }

 private:
  static constexpr unsigned kQuarantine = 256;

  POLYTILE_EMULATOR_QUIET static size_t rounded(size_t size) { return (size + kPage - 1) / kPage * kPage; }

  Freed freed_[kQuarantine] = {};
  unsigned next_ = 0;
};

inline Guarded guarded;

POLYTILE_EMULATOR_QUIET inline void *new_memory(size_t size) { return guarded.take(size); }
POLYTILE_EMULATOR_QUIET inline void free_memory(void *memory, size_t size) { guarded.give(memory, size); }

}  // namespace polytile_emulator

#pragma GCC visibility pop

#endif
