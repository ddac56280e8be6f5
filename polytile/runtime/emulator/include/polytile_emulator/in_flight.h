// Asynchronous copies as a checked build sees them. Each is a read and a write of its thread, when it is issued and
// again when it arrives; in between, nobody may touch its target, nor write its source.
#ifndef POLYTILE_EMULATOR_IN_FLIGHT_H
#define POLYTILE_EMULATOR_IN_FLIGHT_H

#pragma GCC visibility push(hidden)

namespace polytile_emulator {

// The copies that are under way, by the words that they read and write.
class Flights {
 public:
  POLYTILE_EMULATOR_QUIET void add(const Copy &copy) {
    for_words(copy, [&](uintptr_t word, bool target) POLYTILE_EMULATOR_QUIET {
      Flight *const made = reserve_.take();
      *made = {bucket(word), word, &copy, target};
      bucket(word) = made;
      ++count_;
    });
  }

  POLYTILE_EMULATOR_QUIET void remove(const Copy &copy) {
    for_words(copy, [&](uintptr_t word, bool target) POLYTILE_EMULATOR_QUIET {
      Flight **link = &bucket(word);
      while (*link && ((*link)->copy != &copy || (*link)->word != word || (*link)->target != target))
        link = &(*link)->next;
      if (Flight *const found = *link) {
        *link = found->next;
        reserve_.give(found);
        --count_;
      }
    });
  }

  // A copy under way that an access by the running block disturbs, or null.
  POLYTILE_EMULATOR_QUIET const Copy *disturbed(uintptr_t address, unsigned size, AccessKind kind, bool *target) {
    if (!count_) return nullptr;
    for (uintptr_t word = address / 4; word <= (address + size - 1) / 4; ++word)
      for (const Flight *flight = bucket(word); flight; flight = flight->next) {
        if (flight->word != word) continue;
        if (flight->target ? same_block(*flight->copy) : kind != AccessKind::read)
          return *target = flight->target, flight->copy;
      }
    return nullptr;
  }

  POLYTILE_EMULATOR_QUIET void clear() {
    if (!count_) return;
    memset(static_cast<void *>(buckets_), 0, sizeof buckets_);
    reserve_.give_all();
    count_ = 0;
  }

 private:
  static constexpr unsigned kBuckets = 1u << 14;

  struct Flight {
    Flight *next;
    uintptr_t word;
    const Copy *copy;
    bool target;
  };

  template <class Function>
  POLYTILE_EMULATOR_QUIET static void for_words(const Copy &copy, const Function &function) {
    for (unsigned byte = 0; byte < copy.bytes; byte += 4) {
      function(reinterpret_cast<uintptr_t>(copy.to + byte) / 4, true);
      if (copy.read) function(reinterpret_cast<uintptr_t>(copy.from + byte) / 4, false);
    }
  }

  // Shared memory at one address is another one in each block.
  POLYTILE_EMULATOR_QUIET static bool same_block(const Copy &copy) {
    return copy.block.x == blockIdx.x && copy.block.y == blockIdx.y && copy.block.z == blockIdx.z;
  }

  POLYTILE_EMULATOR_QUIET Flight *&bucket(uintptr_t word) { return buckets_[word % kBuckets]; }

  Flight *buckets_[kBuckets] = {};
  Reserve<Flight> reserve_;
  size_t count_ = 0;
};

inline Flights flights;

// Reports an access that disturbs a copy; false when it disturbs none.
POLYTILE_EMULATOR_QUIET inline bool disturbs(const Area &area, uintptr_t address, unsigned size, AccessKind kind,
                                             unsigned site) {
  bool target = false;
  const Copy *const copy = flights.disturbed(address, size, kind, &target);
  if (!copy) return false;
  Finding *const finding = findings.add(Check::race, area.memory, site, offset_of(copy->site.where));
  if (!finding) return true;
  fill_place(*finding, kind);
  describe(*finding, area, address, size);
  Side &other = finding->sides[1];
  other.kind = static_cast<int>(target ? AccessKind::write : AccessKind::read);
  other.block[0] = copy->block.x, other.block[1] = copy->block.y, other.block[2] = copy->block.z;
  fill_coordinates(other.thread, copy->thread, blockDim);
  snprintf(finding->text, sizeof finding->text, "an asynchronous copy of thread (%u,%u,%u) may still %s",
           other.thread[0], other.thread[1], other.thread[2], target ? "write" : "read");
  return true;
}

// An access of the running thread at this moment, which conflicts with none.
POLYTILE_EMULATOR_QUIET inline void note_access(const void *memory, unsigned size, AccessKind kind, const Site &site) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(memory);
  Area *const area = areas.find(address);
  if (!area || area->memory == Memory::variable) return;
  if (kUnwritten && kind == AccessKind::write) area->set_written(address - area->base, size, true);
  if (!kRaces) return;
  area->each_cell(address - area->base, size,
                  [&](Cell &cell) POLYTILE_EMULATOR_QUIET { race(cell, kind, offset_of(site.where)); });
}

POLYTILE_EMULATOR_QUIET inline bool is_in(const void *address, Memory memory) {
  const Area *const area = areas.find(reinterpret_cast<uintptr_t>(address));
  return area && area->memory == memory;
}

namespace observer {

POLYTILE_EMULATOR_QUIET inline void copy_begins(const Copy &copy) {
  const uintptr_t to = reinterpret_cast<uintptr_t>(copy.to);
  if (copy.read) access(reinterpret_cast<uintptr_t>(copy.from), copy.bytes, AccessKind::read, copy.site.where);
  access(to, copy.bytes, AccessKind::write, copy.site.where);
  if (is_in(copy.to, Memory::global)) misuse(Misuse::use, copy.site, "copies asynchronously to global memory");
  if (copy.read && is_in(copy.from, Memory::shared))
    misuse(Misuse::use, copy.site, "copies asynchronously from shared memory");
  if (Area *const area = areas.find(to)) area->set_written(to - area->base, copy.bytes, false);
  if (kRaces) flights.add(copy);
}

POLYTILE_EMULATOR_QUIET inline void copy_arrives(const Copy &copy) {
  if (kRaces) flights.remove(copy);
  if (copy.read) note_access(copy.from, copy.bytes, AccessKind::read, copy.site);
  note_access(copy.to, copy.bytes, AccessKind::write, copy.site);
}

}  // namespace observer
}  // namespace polytile_emulator

#pragma GCC visibility pop

#endif
