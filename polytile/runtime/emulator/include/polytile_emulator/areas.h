// The memory that a kernel may access, with what is known of it: device allocations, shared memory, and the library's
// own variables (__device__ and __constant__ ones), which are only known to be there. Shared arrays of function
// templates are taken for such variables, because gcc puts them among them.
#ifndef POLYTILE_EMULATOR_AREAS_H
#define POLYTILE_EMULATOR_AREAS_H

#pragma GCC visibility push(hidden)

extern "C" char __start_polytile_fixed[] __attribute__((weak));
extern "C" char __stop_polytile_fixed[] __attribute__((weak));
extern "C" char _end[];

namespace polytile_emulator {

#if defined(POLYTILE_EMULATOR_CHECK_RACE)
constexpr bool kRaces = true;
#else
constexpr bool kRaces = false;
#endif
#if defined(POLYTILE_EMULATOR_CHECK_UNINITIALISED)
constexpr bool kUnwritten = true;
#else
constexpr bool kUnwritten = false;
#endif
constexpr int kPoison = 0xff;  // a NaN, and -1

class Area {
 public:
  uintptr_t base;
  size_t size;
  Memory memory;
  unsigned kernel;  // that had a pointer to it last, and which of its parameters that was
  int parameter;

  POLYTILE_EMULATOR_QUIET static Area at(const void *base, size_t size, Memory memory) {
    Area area = {};
    area.base = reinterpret_cast<uintptr_t>(base);
    area.size = size;
    area.memory = memory;
    area.parameter = -1;
    return area;
  }

  POLYTILE_EMULATOR_QUIET bool holds(uintptr_t address) const { return address - base < size; }

  POLYTILE_EMULATOR_QUIET void drop() {
    if (cells_) munmap(cells_, cells() * sizeof(Cell));
    if (written_) munmap(written_, size);
    cells_ = nullptr;
    written_ = nullptr;
  }

  // Says of bytes whether they have a value.
  POLYTILE_EMULATOR_QUIET void set_written(size_t offset, size_t count, bool value) {
    if (!kUnwritten) return;
    if (!written_) written_ = static_cast<unsigned char *>(reserve_pages(size, PROT_READ | PROT_WRITE));
    if (written_) memset(written_ + offset, value, count);
  }

  // The first of some bytes that has no value, or `count`.
  POLYTILE_EMULATOR_QUIET size_t first_unwritten(size_t offset, size_t count) const {
    if (!written_) return count;
    const void *found = memchr(written_ + offset, 0, count);
    return found ? static_cast<size_t>(static_cast<const unsigned char *>(found) - written_) - offset : count;
  }

  POLYTILE_EMULATOR_QUIET void copy_written(size_t offset, const Area &from, size_t from_offset, size_t count) {
    if (!written_ || !from.written_) return set_written(offset, count, true);
    memmove(written_ + offset, from.written_ + from_offset, count);
  }

  POLYTILE_EMULATOR_QUIET void add_written(Parts &parts) const { parts.add(written_, size); }

  // Calls a function for the history of each granule of an access: granules are as large as all accesses allow.
  template <class Function>
  POLYTILE_EMULATOR_QUIET void each_cell(size_t offset, size_t count, const Function &function) {
    offset += base % kLargest;
    while ((offset | count) & ((kLargest >> finer_) - 1)) refine();
    if (!cells_) cells_ = new_cells(finer_);
    const size_t granule = kLargest >> finer_;
    for (size_t cell = offset / granule; cell < (offset + count) / granule; ++cell) function(cells_[cell]);
  }

 private:
  static constexpr size_t kLargest = 8;  // bytes

  POLYTILE_EMULATOR_QUIET size_t cells() const { return (size + 2 * kLargest) / (kLargest >> finer_); }

  POLYTILE_EMULATOR_QUIET Cell *new_cells(unsigned finer) const {
    const size_t count = (size + 2 * kLargest) / (kLargest >> finer);
    void *const pages = reserve_pages(count * sizeof(Cell), PROT_READ | PROT_WRITE);
    if (!pages) fail_unrecorded();
    return static_cast<Cell *>(pages);
  }

  POLYTILE_EMULATOR_QUIET void refine() {
    Cell *const coarse = cells_;
    const size_t count = cells();
    ++finer_;
    if (!coarse) return;
    cells_ = new_cells(finer_);
    for (size_t i = 0; i < count; ++i) {
      if (!coarse[i].writer && !coarse[i].reads.where && !coarse[i].atomics.where) continue;
      cells_[2 * i] = coarse[i];
      cells_[2 * i + 1] = coarse[i];
      copy_groups(cells_[2 * i + 1].reads, coarse[i].reads);
      copy_groups(cells_[2 * i + 1].atomics, coarse[i].atomics);
    }
    munmap(coarse, count * sizeof(Cell));
  }

  POLYTILE_EMULATOR_QUIET static void copy_groups(Group &to, const Group &from) {
    unsigned *link = &to.next;
    for (unsigned index = from.next; index; index = pool.at(index).next) {
      const unsigned made = pool.take();
      *link = made;
      pool.at(made) = pool.at(index);
      link = &pool.at(made).next;
    }
    *link = 0;
  }

  Cell *cells_;
  unsigned char *written_;
  unsigned finer_;  // granules are kLargest >> finer_ bytes
};

class Areas {
 public:
  Area fixed_shared = {};
  Area dynamic_shared = {};

  POLYTILE_EMULATOR_QUIET void add_shared(Parts &parts) const {
    fixed_shared.add_written(parts);
    dynamic_shared.add_written(parts);
  }

  POLYTILE_EMULATOR_QUIET void add(const Area &area) {
    if (count_ == room_) {
      const size_t room = room_ ? 2 * room_ : 64;
      void *more = realloc(global_, room * sizeof(Area));
      if (!more) return;
      global_ = static_cast<Area *>(more);
      room_ = room;
    }
    size_t i = count_++;
    for (; i > 0 && global_[i - 1].base > area.base; --i) global_[i] = global_[i - 1];
    global_[i] = area;
    last_ = nullptr;
  }

  POLYTILE_EMULATOR_QUIET void remove(const void *base) {
    size_t i = 0;
    while (i < count_ && global_[i].base != reinterpret_cast<uintptr_t>(base)) ++i;
    if (i == count_) return;
    global_[i].drop();
    for (--count_; i < count_; ++i) global_[i] = global_[i + 1];
    last_ = nullptr;
  }

  // Where an address is, or null.
  POLYTILE_EMULATOR_QUIET Area *find(uintptr_t address) {
    if (last_ && last_->holds(address)) return last_;
    if (fixed_shared.holds(address)) return &fixed_shared;
    if (dynamic_shared.holds(address)) return &dynamic_shared;
    Area *const area = before(address);
    if (area && area->holds(address)) return last_ = area;
    return library().holds(address) && !beyond_dynamic_shared(address) ? &library_ : nullptr;
  }

  // Whether an address is where a launch with more dynamic shared memory would have it.
  POLYTILE_EMULATOR_QUIET bool beyond_dynamic_shared(uintptr_t address) const {
    return dynamic_shared.base && address - dynamic_shared.base < kSharedOptIn;
  }

  // The allocation in whose gap an address is, or null.
  POLYTILE_EMULATOR_QUIET const Area *near(uintptr_t address) const {
    for (size_t i = 0; i < count_; ++i) {
      const size_t gap = Guarded::gap(global_[i].size);
      if (address - (global_[i].base - gap) < global_[i].size + 2 * gap) return &global_[i];
    }
    return nullptr;
  }

 private:
  // The last allocation that begins at an address or before it.
  POLYTILE_EMULATOR_QUIET Area *before(uintptr_t address) const {
    size_t low = 0, high = count_;
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if (global_[middle].base <= address)
        low = middle + 1;
      else
        high = middle;
    }
    return low ? &global_[low - 1] : nullptr;
  }

  POLYTILE_EMULATOR_QUIET Area &library() {
    if (!library_.size) library_ = Area::at(__ehdr_start, static_cast<size_t>(_end - __ehdr_start), Memory::variable);
    return library_;
  }

  Area library_ = {};
  Area *global_ = nullptr;  // by address
  Area *last_ = nullptr;
  size_t count_ = 0, room_ = 0;
};

inline Areas areas;

POLYTILE_EMULATOR_QUIET inline void describe(Finding &finding, const Area &area, uintptr_t address, unsigned width) {
  finding.kernel = finding.kernel ? finding.kernel : area.kernel;
  finding.parameter = area.parameter;
  finding.offset = static_cast<long long>(address - area.base);
  finding.size = area.size;
  finding.width = width;
  if (area.memory != Memory::global && area.memory != Memory::freed)
    finding.variable = static_cast<unsigned>(area.base - reinterpret_cast<uintptr_t>(__ehdr_start));
}

}  // namespace polytile_emulator

#pragma GCC visibility pop

#endif
