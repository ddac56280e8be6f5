// Split barriers (mbarrier): threads arrive, and wait for the others later.
//
// A phase ends with the last of its arrivals; phases are numbered from 0. A wait names the parity of its phase alone,
// and hardware cannot tell which phase is meant. Here every thread waits for the phases in their order, the first of
// them 0: a wait that returns at once because hardware takes its phase for the one before the last is a misuse.
#ifndef POLYTILE_EMULATOR_SPLIT_BARRIER_H
#define POLYTILE_EMULATOR_SPLIT_BARRIER_H

#if defined(POLYTILE_EMULATOR_CHECK) && !defined(POLYTILE_EMULATOR_APART)
#include "polytile_emulator/vector_clocks.h"
#endif

#pragma GCC visibility push(hidden)

// In shared memory; what is known of it is a SplitBarrier.
struct polytile_barrier {
  unsigned long long state;
};

namespace polytile_emulator {

POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE void start_split(polytile_barrier *address, unsigned arrivals,
                                                                const Site &site);
POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE void arrive(polytile_barrier *address, const Site &site);
POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE void await(polytile_barrier *address, unsigned parity, const Site &site);

#if !defined(POLYTILE_EMULATOR_APART)

struct SplitBarrier {
  // The last phase that a thread awaited, and in which it arrived; -1: none.
  struct Use {
    long long awaited, arrived;
  };

  SplitBarrier *next;
  const polytile_barrier *address;
  unsigned arrivals, missing;
  long long phase;           // that runs
  unsigned long long began;  // the moment at which it did
  unsigned last;             // who ended the one before
  unsigned starter;  // thread
  unsigned barriers, syncs;  // of the block, and of the starter's warp, before it was started
  Use uses[kMaxThreads];
#if defined(POLYTILE_EMULATOR_CHECK)
  Knowledge arriving, ended;  // of those who have arrived in this phase, and of those of the one before
#endif
};

inline Reserve<SplitBarrier> split_barriers;

namespace observer {

#if defined(POLYTILE_EMULATOR_CHECK)
// The running thread starts a split barrier; may it arrive?; arrives. A phase ends. A thread goes on that has waited
// for that. In split_order.h.
POLYTILE_EMULATOR_QUIET inline void split_starts(SplitBarrier &split, const Site &site);
POLYTILE_EMULATOR_QUIET inline void split_checks(const SplitBarrier &split, const Site &site);
POLYTILE_EMULATOR_QUIET inline void split_arrives(SplitBarrier &split);
POLYTILE_EMULATOR_QUIET inline void split_ends(SplitBarrier &split);
POLYTILE_EMULATOR_QUIET inline void split_passed(const SplitBarrier &split, unsigned thread);
#else
inline void split_starts(const SplitBarrier &, const Site &) {}
inline void split_checks(const SplitBarrier &, const Site &) {}
inline void split_arrives(const SplitBarrier &) {}
inline void split_ends(const SplitBarrier &) {}
inline void split_passed(const SplitBarrier &, unsigned) {}
#endif

}  // namespace observer

POLYTILE_EMULATOR_QUIET inline SplitBarrier *find_split(const polytile_barrier *address) {
  SplitBarrier *split = block.splits;
  while (split && split->address != address) split = split->next;
  return split;
}

// Whether a barrier lets the running thread see that it was started.
POLYTILE_EMULATOR_QUIET inline bool is_seen(const SplitBarrier &split) {
  const unsigned self = block.current, warp = self / kWarp;
  return self == split.starter || block.barrier.opened != split.barriers ||
         (warp == split.starter / kWarp && block.warps[warp].syncs != split.syncs);
}

// The barrier that the running thread uses.
POLYTILE_EMULATOR_QUIET inline SplitBarrier &used_split(const polytile_barrier *address, const char *does,
                                                        const Site &site) {
  SplitBarrier *const split = find_split(address);
  if (!split) fatal_misuse(site, "%s a split barrier that nothing has started", does);
  if (!is_seen(*split))
    misuse(Misuse::order, site, "%s a split barrier whose start by another thread no barrier lets it see", does);
  return *split;
}

POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE void start_split(polytile_barrier *address, unsigned arrivals,
                                                                const Site &site) {
  if (!is_aligned(address, 8)) fatal_misuse(site, "starts a split barrier that is not aligned to 8 bytes");
  if (arrivals == 0 || arrivals >= 1u << 20) fatal_misuse(site, "starts a split barrier of %u arrivals", arrivals);
  SplitBarrier *split = find_split(address);
  if (!split) {
    split = split_barriers.take();
    split->next = block.splits;
    block.splits = split;
  }
  split->address = address;
  split->arrivals = split->missing = arrivals;
  split->phase = 0;
  split->began = 0;
  split->last = split->starter = block.current;
  split->barriers = block.barrier.opened;
  split->syncs = block.warps[block.current / kWarp].syncs;
  for (unsigned t = 0; t < block.threads; ++t) split->uses[t] = {-1, -1};
  observer::split_starts(*split, site);
}

// Lets those go on that wait for the phase that has just ended.
POLYTILE_EMULATOR_QUIET inline void end_phase(SplitBarrier &split) {
  observer::split_ends(split);
  split.missing = split.arrivals;
  ++split.phase;
  split.began = ++block.moment;
  split.last = block.current;
  for (unsigned t = 0; t < block.threads; ++t) {
    Thread &thread = block.thread[t];
    if (t == block.current || t >= block.started || thread.state != State::split) continue;
    if (thread.value != reinterpret_cast<uintptr_t>(&split)) continue;
    split.uses[t].awaited = split.phase - 1;
    observer::split_passed(split, t);
    release(t);
  }
}

POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE void arrive(polytile_barrier *address, const Site &site) {
  SplitBarrier &split = used_split(address, "arrives at", site);
  SplitBarrier::Use &use = split.uses[block.current];
  if (use.arrived == split.phase)
    misuse(Misuse::use, site, "arrives at a split barrier twice in phase %lld", split.phase);
  if (block.current != split.last && block.thread[block.current].waited < split.began)
    misuse(Misuse::use, site, "arrives in phase %lld of a split barrier and has waited for nothing since phase %lld",
           split.phase, split.phase - 1);
  else
    observer::split_checks(split, site);
  observer::split_arrives(split);
  use.arrived = split.phase;
  if (--split.missing == 0) end_phase(split);
}

POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE void await(polytile_barrier *address, unsigned parity, const Site &site) {
  SplitBarrier &split = used_split(address, "awaits a phase of", site);
  SplitBarrier::Use &use = split.uses[block.current];
  if (parity > 1) fatal_misuse(site, "awaits parity %u of a split barrier", parity);
  if (static_cast<unsigned>(split.phase & 1) == parity) {
    Thread &self = block.thread[block.current];
    self.state = State::split;
    self.value = reinterpret_cast<uintptr_t>(&split);
    self.site = site;
    return park();
  }
  const long long meant = use.awaited + 1 + ((use.awaited + 1) % 2 != parity);
  if (meant > split.phase - 1)
    misuse(Misuse::use, site, "awaits parity %u of a split barrier: phase %lld is yet to come, and it goes on at once",
           parity, meant);
  use.awaited = split.phase - 1;
  end_wait(block.current);
  observer::split_passed(split, block.current);
}

// Between blocks.
POLYTILE_EMULATOR_QUIET inline void drop_splits() {
  while (SplitBarrier *const split = block.splits) {
    block.splits = split->next;
    split_barriers.give(split);
  }
}

// After a launch that failed.
POLYTILE_EMULATOR_QUIET inline void forget_splits() {
  block.splits = nullptr;
  split_barriers.give_all();
}

#endif

}  // namespace polytile_emulator

POLYTILE_EMULATOR_ACCESSOR inline void polytile_barrier_init(polytile_barrier *b, unsigned arrivals,
                                                             POLYTILE_EMULATOR_SITE) {
  polytile_emulator::start_split(b, arrivals, POLYTILE_EMULATOR_CALLER);
}
POLYTILE_EMULATOR_ACCESSOR inline void polytile_arrive(polytile_barrier *b, POLYTILE_EMULATOR_SITE) {
  polytile_emulator::arrive(b, POLYTILE_EMULATOR_CALLER);
}
POLYTILE_EMULATOR_ACCESSOR inline void polytile_await(polytile_barrier *b, unsigned parity, POLYTILE_EMULATOR_SITE) {
  polytile_emulator::await(b, parity, POLYTILE_EMULATOR_CALLER);
}

#pragma GCC visibility pop

#endif
