// Data races, exactly: for each piece of memory its last write, and enough of the reads and of the atomics after it.
//
// A write that finds everything before it ordered stands for all of it from then on. Of the reads, a later write can
// tell apart only few: one of an earlier block conflicts with every write of a later one; of the running segment two in
// different warps conflict, one or the other, with every write; within one warp the lanes must be known. Reads that all
// later accesses come after are dropped. So a group stays small and loses nothing. Atomics are kept in the same way:
// they conflict with plain accesses, and not with one another. Where split barriers order threads of several warps one
// by one, the reads of all warps are kept, the last of each thread.
#ifndef POLYTILE_EMULATOR_RACE_H
#define POLYTILE_EMULATOR_RACE_H

#pragma GCC visibility push(hidden)

namespace polytile_emulator {

// Lanes of one warp that made the same access in one segment at one time.
struct Group {
  unsigned long long where;  // segment * 32 + warp; 0: none
  unsigned lanes;
  unsigned time;
  unsigned site;
  unsigned next;  // in the pool; 0: none

  POLYTILE_EMULATOR_QUIET unsigned long long segment() const { return where / kWarp; }
};

// The history of one granule.
struct Cell {
  unsigned long long writer;  // segment * kMaxThreads + thread; 0: not written
  unsigned write_time;
  unsigned write_site;
  Group reads;
  Group atomics;
};

// An earlier access that nothing orders before the present one.
struct Conflict {
  bool found;
  AccessKind kind;
  unsigned long long segment;
  unsigned thread;
  unsigned site;
};

// An access that cannot be recorded would be forgotten: the launch fails instead.
[[noreturn]] POLYTILE_EMULATOR_QUIET inline void fail_unrecorded() { fail("no memory for the checks", nullptr); }

// Groups beyond the first of a cell.
class Pool {
 public:
  POLYTILE_EMULATOR_QUIET Group &at(unsigned index) { return chunks_[index / kChunk][index % kChunk]; }

  POLYTILE_EMULATOR_QUIET unsigned take() {
    const unsigned index = free_ ? free_ : ++used_;
    if (index / kChunk == kChunks) fail_unrecorded();
    Group *&chunk = chunks_[index / kChunk];
    if (!chunk && !(chunk = static_cast<Group *>(malloc(kChunk * sizeof(Group))))) fail_unrecorded();
    if (index == free_) free_ = at(index).next;
    return index;
  }

  POLYTILE_EMULATOR_QUIET void give_all(Group &first) {
    for (unsigned index = first.next; index;) {
      const unsigned next = at(index).next;
      at(index).next = free_;
      free_ = index;
      index = next;
    }
    first.next = 0;
  }

 private:
  static constexpr unsigned kChunk = 1u << 14, kChunks = 1u << 14;

  Group *chunks_[kChunks] = {};
  unsigned used_ = 0, free_ = 0;
};

inline Pool pool;

POLYTILE_EMULATOR_QUIET inline Conflict conflict_with_group(const Group &first, AccessKind kind, unsigned self) {
  for (const Group *group = &first; group->where; group = &pool.at(group->next)) {
    const unsigned warp = static_cast<unsigned>(group->where % kWarp);
    if (!clocks.is_past(group->segment()))
      for (unsigned rest = group->lanes; rest; rest &= rest - 1) {
        const unsigned thread = warp * kWarp + static_cast<unsigned>(__builtin_ctz(rest));
        if (!clocks.happens_before({group->segment(), thread, group->time}, self))
          return {true, kind, group->segment(), thread, group->site};
      }
    if (!group->next) break;
  }
  return {};
}

POLYTILE_EMULATOR_QUIET inline Conflict conflict_with_write(const Cell &cell, unsigned self) {
  const unsigned long long segment = cell.writer / kMaxThreads;
  const unsigned thread = static_cast<unsigned>(cell.writer % kMaxThreads);
  if (clocks.happens_before({segment, thread, cell.write_time}, self)) return {};
  return {true, AccessKind::write, segment, thread, cell.write_site};
}

POLYTILE_EMULATOR_QUIET inline void forget(Group &first) {
  pool.give_all(first);
  first.where = 0;
}

constexpr unsigned kMostGroups = kMaxThreads + 2;

// What a later access may still conflict with; the groups of the running warp come first, without `lane`.
POLYTILE_EMULATOR_QUIET inline unsigned live_groups(const Group &first, unsigned long long where, unsigned lane,
                                                    Group (&live)[kMostGroups], unsigned *other_warps) {
  unsigned count = 0;
  bool earlier_block = false;
  unsigned long long other = 0;
  for (const Group *group = &first;; group = &pool.at(group->next)) {
    Group kept = *group;
    if (kept.where == where) kept.lanes &= ~(1u << lane);
    bool keep = kept.where && kept.lanes && !clocks.is_past(kept.segment());
    if (keep && clocks.in_earlier_block(kept.segment())) {
      keep = !earlier_block;
      earlier_block = true;
    } else if (keep && kept.where != where && kept.where != other) {
      other = kept.where;
      ++*other_warps;
    }
    if (keep && count < kMostGroups) live[count++] = kept;
    if (!group->next) return count;
  }
}

POLYTILE_EMULATOR_QUIET inline void store_groups(Group &first, const Group *groups, unsigned count) {
  pool.give_all(first);
  first = groups[0];
  first.next = 0;
  for (unsigned i = 1; i < count; ++i) {
    const unsigned index = pool.take();
    Group &made = pool.at(index);
    made = groups[i];
    made.next = first.next;
    first.next = index;
  }
}

POLYTILE_EMULATOR_QUIET inline void remember_slowly(Group &first, const Group &own, unsigned lane) {
  static Group live[kMostGroups];
  unsigned other_warps = 0;
  unsigned count = live_groups(first, own.where, lane, live, &other_warps);
  unsigned same = 0;
  while (same < count && (live[same].where != own.where || live[same].time != own.time || live[same].site != own.site))
    ++same;
  if (same < count) {
    live[same].lanes |= own.lanes;
  } else if ((other_warps < 2 || clocks.is_wide()) && count < kMostGroups) {
    live[count] = own;
    same = count++;
  } else {
    same = 0;
  }
  const Group front = live[same];
  live[same] = live[0];
  live[0] = front;
  store_groups(first, live, count);
}

// Adds the running thread's access to a group.
POLYTILE_EMULATOR_QUIET inline void remember(Group &first, unsigned self, unsigned site) {
  const unsigned lane = self % kWarp;
  const Group own = {clocks.segment() * kWarp + self / kWarp, 1u << lane, clocks.time(self), site, 0};
  if (first.where == own.where && first.time == own.time && (first.lanes & own.lanes || first.site == site)) {
    first.lanes |= own.lanes;
  } else if (!first.next && clocks.is_past(first.segment())) {
    first = own;
  } else {
    remember_slowly(first, own, lane);
  }
}

// Shared memory is another one in each block: what earlier blocks did is no history of it.
POLYTILE_EMULATOR_QUIET inline void forget_earlier_blocks(Cell &cell) {
  if (clocks.in_earlier_block(cell.writer / kMaxThreads)) cell.writer = 0;
  if (clocks.in_earlier_block(cell.reads.segment())) forget(cell.reads);
  if (clocks.in_earlier_block(cell.atomics.segment())) forget(cell.atomics);
}

// The running thread accesses the granule: what that conflicts with, after which the access is part of the history.
POLYTILE_EMULATOR_QUIET inline Conflict race(Cell &cell, AccessKind kind, unsigned site) {
  const unsigned self = block.current;
  Conflict conflict = conflict_with_write(cell, self);
  if (!conflict.found && kind != AccessKind::read) conflict = conflict_with_group(cell.reads, AccessKind::read, self);
  if (!conflict.found && kind != AccessKind::atomic)
    conflict = conflict_with_group(cell.atomics, AccessKind::atomic, self);
  if (kind == AccessKind::read) return remember(cell.reads, self, site), conflict;
  if (kind == AccessKind::atomic) return remember(cell.atomics, self, site), conflict;
  cell.writer = clocks.segment() * kMaxThreads + self;
  cell.write_time = clocks.time(self);
  cell.write_site = site;
  forget(cell.reads);
  forget(cell.atomics);
  return conflict;
}

}  // namespace polytile_emulator

#pragma GCC visibility pop

#endif
