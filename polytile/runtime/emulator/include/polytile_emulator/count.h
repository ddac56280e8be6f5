// The observer of a counting build: what the memory accesses of each warp cost.
//
// A request is one instruction that a warp executes with at least one lane. A request to global memory takes one sector
// for each 32-byte segment that its lanes touch. One to shared memory takes a wavefront for each word (4 bytes) that the
// busiest of the 32 banks has to give; accesses of 8 bytes are served half a warp at a time, those of 16 bytes a quarter.
#ifndef POLYTILE_EMULATOR_COUNT_H
#define POLYTILE_EMULATOR_COUNT_H

#if !defined(__clang__) && __GNUC__ < 12
#error "counting needs g++ 12 or later, or clang++: older ones cannot leave a function out of -fsanitize-coverage"
#endif

#include <link.h>

#include "polytile_emulator/trace.h"

#pragma GCC visibility push(hidden)

extern "C" char _end[];  // of the library

namespace polytile_emulator {

// The accesses of one kernel at one place to one array. Read by counts.py: keep in step.
struct SiteCount {
  unsigned kernel;  // by its first launch
  unsigned site;    // offset in the library, as offset_of gives it
  unsigned kind;    // AccessKind
  unsigned size;    // bytes per lane
  long long array;  // device memory by its allocation, else ~offset in the library of what a lane of the first request met
  unsigned long long requests, lanes, sectors, wavefronts, ideal_wavefronts;
};

struct KernelCount {
  const void *kernel;
  const char *name;
  unsigned long long launches, warps, barriers, divergences;
};

struct Allocation {
  uintptr_t base;
  size_t size;
  long long number;
};

// The block that lanes entered together last: where the next differ, its branch diverged.
struct Company {
  unsigned lanes;
  bool parted;
};

class Counter {
 public:
  List<SiteCount> sites;
  List<KernelCount> kernels;
  List<Allocation> allocations;

  POLYTILE_EMULATOR_QUIET void reset() {
    sites.clear();
    kernels.clear();
    table_.clear();
    allocated_ = 0;
  }

  POLYTILE_EMULATOR_QUIET void allocate(const void *base, size_t size) {
    allocations.add({reinterpret_cast<uintptr_t>(base), size, allocated_++});
  }

  POLYTILE_EMULATOR_QUIET void release(const void *base) {
    for (unsigned i = allocations.size(); i-- > 0;)
      if (allocations[i].base == reinterpret_cast<uintptr_t>(base)) return allocations.remove(i);
  }

  POLYTILE_EMULATOR_QUIET void begin_launch() {
    const void *function = block.body.kernel;
    Dl_info info = {};
    ElfW(Sym) *symbol = nullptr;
    const bool named = dladdr1(function, &info, reinterpret_cast<void **>(&symbol), RTLD_DL_SYMENT) &&
                       info.dli_saddr == function && symbol;
    const unsigned from = offset_of(reinterpret_cast<uintptr_t>(function));
    tracer.begin_launch(from, named ? from + static_cast<unsigned>(symbol->st_size) : ~0u);
    kernel_ = 0;
    while (kernel_ < kernels.size() && kernels[kernel_].kernel != function) ++kernel_;
    if (kernel_ == kernels.size()) kernels.add({function, named ? info.dli_sname : nullptr, 0, 0, 0, 0});
    ++kernels[kernel_].launches;
  }

  POLYTILE_EMULATOR_QUIET void begin_block() {
    const unsigned warps = (block.threads + kWarp - 1) / kWarp;
    kernels[kernel_].warps += warps;
    for (unsigned t = 0; t < warps * kWarp; ++t) company_[t] = {0, true};
  }

  POLYTILE_EMULATOR_QUIET void add_parts(Parts &parts) { parts.add(company_, sizeof company_); }

  POLYTILE_EMULATOR_QUIET void barrier() { ++kernels[kernel_].barriers; }

  // A branch diverges when not all lanes that entered its block enter the same block next.
  POLYTILE_EMULATOR_QUIET void enter_block(unsigned w, unsigned lanes) {
    Company *const company = company_ + w * kWarp;
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
      Company &own = company[__builtin_ctz(rest)];
      if (!own.parted && own.lanes & ~lanes) part(company, own.lanes);
    }
    for (unsigned rest = lanes; rest; rest &= rest - 1) company[__builtin_ctz(rest)] = {lanes, false};
  }

  POLYTILE_EMULATOR_QUIET void request(unsigned lanes, const Event *const *events) {
    const Event &event = *events[__builtin_ctz(lanes)];
    const uintptr_t address = event.address;
    long long array = allocation_of(address);
    if (array < 0) {
      const uintptr_t offset = address - reinterpret_cast<uintptr_t>(__ehdr_start);
      if (offset >= static_cast<uintptr_t>(_end - __ehdr_start)) return;
      array = ~static_cast<long long>(offset);
    }
    SiteCount &site = find(event, array);
    ++site.requests;
    site.lanes += static_cast<unsigned>(__builtin_popcount(lanes));
    site.sectors += sectors(lanes, events);
    if (array < 0) count_wavefronts(site, lanes, events);
  }

 private:
  POLYTILE_EMULATOR_QUIET void part(Company *company, unsigned lanes) {
    ++kernels[kernel_].divergences;
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
      Company &other = company[__builtin_ctz(rest)];
      if (other.lanes == lanes) other.parted = true;
    }
  }

  POLYTILE_EMULATOR_QUIET long long allocation_of(uintptr_t address) const {
    for (unsigned i = 0; i < allocations.size(); ++i)
      if (address - allocations[i].base < allocations[i].size) return allocations[i].number;
    return -1;
  }

  // Accesses to the library's own memory are told apart by their place alone.
  POLYTILE_EMULATOR_QUIET SiteCount &find(const Event &event, long long array) {
    const unsigned kind = static_cast<unsigned>(event.kind()), size = static_cast<unsigned>(event.size);
    if (2 * (sites.size() + 1) > table_.size()) rebuild();
    unsigned i = hash(kernel_, event.site, array);
    for (; table_[i]; i = (i + 1) % table_.size()) {
      SiteCount &site = sites[table_[i] - 1];
      if (site.site == event.site && site.kernel == kernel_ && site.kind == kind &&
          (site.array == array || (site.array < 0 && array < 0)))
        return site;
    }
    SiteCount &site = sites.add({kernel_, event.site, kind, size, array, 0, 0, 0, 0, 0});
    table_[i] = sites.size();
    return site;
  }

  POLYTILE_EMULATOR_QUIET unsigned hash(unsigned kernel, unsigned site, long long array) const {
    const unsigned long long key = (array < 0 ? 0 : array + 1) * 0x9e3779b97f4a7c15ull + site * 0x85ebca6bull + kernel;
    return static_cast<unsigned>((key ^ key >> 29) % table_.size());
  }

  POLYTILE_EMULATOR_QUIET void rebuild() {
    const unsigned room = table_.size() ? 2 * table_.size() : 256;
    table_.clear();
    for (unsigned i = 0; i < room; ++i) table_.add(0);
    for (unsigned s = 0; s < sites.size(); ++s) {
      unsigned i = hash(sites[s].kernel, sites[s].site, sites[s].array);
      while (table_[i]) i = (i + 1) % room;
      table_[i] = s + 1;
    }
  }

  POLYTILE_EMULATOR_QUIET static unsigned sectors(unsigned lanes, const Event *const *events) {
    unsigned long long met[3 * kWarp];
    unsigned count = 0;
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
      const Event &event = *events[__builtin_ctz(rest)];
      for (unsigned long long s = event.address >> 5; s <= (event.address + event.size - 1) >> 5; ++s) {
        unsigned i = count;
        while (i > 0 && met[i - 1] != s) --i;
        if (!i) met[count++] = s;
      }
    }
    return count;
  }

  POLYTILE_EMULATOR_QUIET static void count_wavefronts(SiteCount &site, unsigned lanes, const Event *const *events) {
    const unsigned together = site.size <= 4 ? 32 : site.size <= 8 ? 16 : 8;
    for (unsigned first = 0; first < kWarp; first += together) {
      const unsigned served = lanes & (together == 32 ? ~0u : ((1u << together) - 1) << first);
      if (!served) continue;
      site.wavefronts += wavefronts(served, events);
      ++site.ideal_wavefronts;
    }
  }

  POLYTILE_EMULATOR_QUIET static unsigned wavefronts(unsigned lanes, const Event *const *events) {
    unsigned long long words[3 * kWarp];
    unsigned char given[kWarp] = {};
    unsigned count = 0, most = 0;
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
      const Event &event = *events[__builtin_ctz(rest)];
      for (unsigned long long word = event.address >> 2; word <= (event.address + event.size - 1) >> 2; ++word) {
        unsigned i = count;
        while (i > 0 && words[i - 1] != word) --i;
        if (i) continue;
        words[count++] = word;
        const unsigned bank = ++given[word % kWarp];
        if (bank > most) most = bank;
      }
    }
    return most;
  }

  unsigned kernel_ = 0;
  long long allocated_ = 0;
  List<unsigned> table_;  // of sites, by hash: 1 + index
  Company company_[kMaxThreads];
};

inline Counter counter;

POLYTILE_EMULATOR_QUIET inline void on_block(unsigned w, unsigned lanes) { counter.enter_block(w, lanes); }
POLYTILE_EMULATOR_QUIET inline void on_request(unsigned lanes, const Event *const *events) {
  counter.request(lanes, events);
}

// Whether a thread of the block runs, and not another thread of the host.
POLYTILE_EMULATOR_QUIET inline bool on_fiber(const void *frame) {
  return static_cast<size_t>(static_cast<const char *>(frame) - block.fiber->stack) < block.fiber->size;
}

namespace observer {

POLYTILE_EMULATOR_QUIET inline void launch_begins() { counter.begin_launch(); }
POLYTILE_EMULATOR_QUIET inline void launch_ends() {}
POLYTILE_EMULATOR_QUIET inline void block_begins() {
  tracer.begin_block();
  counter.begin_block();
}
POLYTILE_EMULATOR_QUIET inline void block_ends() {}
POLYTILE_EMULATOR_QUIET inline void thread_begins() {}
POLYTILE_EMULATOR_QUIET inline void thread_ends() { tracer.end_thread(); }
POLYTILE_EMULATOR_QUIET inline void barrier_opens() {
  tracer.at_barrier();
  counter.barrier();
}
POLYTILE_EMULATOR_QUIET inline void warp_concludes(unsigned, unsigned char, unsigned) {}

// In pieces of at most 16 bytes, as a GPU has them.
POLYTILE_EMULATOR_QUIET inline void access(uintptr_t address, unsigned size, AccessKind kind, uintptr_t site) {
  if (!on_fiber(__builtin_frame_address(0))) return;
  for (; size > 16; size -= 16, address += 16) tracer.access(address, 16, kind, offset_of(site));
  tracer.access(address, size, kind, offset_of(site));
}

// The instruction reads global memory, and writes shared memory as soon as it can.
POLYTILE_EMULATOR_QUIET inline void copy_begins(const Copy &copy) {
  if (copy.read) access(reinterpret_cast<uintptr_t>(copy.from), copy.bytes, AccessKind::read, copy.site.where - 1);
  access(reinterpret_cast<uintptr_t>(copy.to), copy.bytes, AccessKind::write, copy.site.where);
}
POLYTILE_EMULATOR_QUIET inline void copy_arrives(const Copy &) {}

POLYTILE_EMULATOR_QUIET inline void block_parts(Parts &parts) {
  tracer.add_parts(parts);
  counter.add_parts(parts);
}
POLYTILE_EMULATOR_QUIET inline void grid_opens() {}
POLYTILE_EMULATOR_QUIET inline void block_resumes() {}

POLYTILE_EMULATOR_QUIET inline void allocated(const void *memory, size_t size) { counter.allocate(memory, size); }
POLYTILE_EMULATOR_QUIET inline void freed(const void *memory, size_t) { counter.release(memory); }
POLYTILE_EMULATOR_QUIET inline void filled(const void *, size_t) {}
POLYTILE_EMULATOR_QUIET inline void copied(const void *, const void *, size_t) {}

}  // namespace observer

}  // namespace polytile_emulator

#pragma GCC visibility pop

// Called where the compiler begins a basic block.
extern "C" __attribute__((weak, used, noinline, visibility("hidden"))) POLYTILE_EMULATOR_QUIET void
__sanitizer_cov_trace_pc() {
  using namespace polytile_emulator;
  if (observing && on_fiber(__builtin_frame_address(0)))
    tracer.enter(offset_of(reinterpret_cast<uintptr_t>(__builtin_return_address(0))));
}

#define POLYTILE_EMULATOR_HOOK extern "C" __attribute__((weak, used, visibility("default"))) POLYTILE_EMULATOR_QUIET

// What was counted since the last reset, and how much of it there is.
POLYTILE_EMULATOR_HOOK const polytile_emulator::SiteCount *polytile_emulator_site_counts(unsigned *count) {
  return *count = polytile_emulator::counter.sites.size(), polytile_emulator::counter.sites.data();
}
POLYTILE_EMULATOR_HOOK const polytile_emulator::KernelCount *polytile_emulator_kernel_counts(unsigned *count) {
  return *count = polytile_emulator::counter.kernels.size(), polytile_emulator::counter.kernels.data();
}
POLYTILE_EMULATOR_HOOK void polytile_emulator_reset_site_counts() { polytile_emulator::counter.reset(); }

// Whether runs only show the control flow of the kernels.
POLYTILE_EMULATOR_HOOK void polytile_emulator_learn(int learning) { polytile_emulator::tracer.learning = learning != 0; }

#undef POLYTILE_EMULATOR_HOOK

#endif
