// Time as CUDA orders it: which of two moments of a launch certainly comes before the other.
//
// Launches follow one another. Blocks of one launch are unordered. Within a block, __syncthreads orders all threads and
// __syncwarp the lanes that take part; shuffles and votes order nothing. A segment is the time of one block between two
// of its barriers, numbered from the first launch on. Within a segment each lane counts its __syncwarp's, and knows up
// to which count of every other lane of its warp it comes later. A barrier of the grid orders everything: the time
// behind it is that of another launch. In a block that has started a split barrier, threads know the counts of all
// others.
#ifndef POLYTILE_EMULATOR_CLOCKS_H
#define POLYTILE_EMULATOR_CLOCKS_H

#include "polytile_emulator/vector_clocks.h"

#pragma GCC visibility push(hidden)

namespace polytile_emulator {

// When and where an access was made.
struct Moment {
  unsigned long long segment;
  unsigned thread;
  unsigned time;
};

class Clocks {
 public:
  POLYTILE_EMULATOR_QUIET void launch() {
    launch_first_ = ++segment_;
    blocks_ = 0;
  }

  POLYTILE_EMULATOR_QUIET void enter_block() {
    block_first_ = ++segment_;
    wide_ = false;
    if (blocks_ == room_) {
      const size_t room = room_ ? 2 * room_ : 1024;
      void *more = realloc(firsts_, room * sizeof *firsts_);
      if (!more) return;
      firsts_ = static_cast<unsigned long long *>(more);
      room_ = room;
    }
    firsts_[blocks_++] = segment_;
  }

  POLYTILE_EMULATOR_QUIET void barrier() { ++segment_; }

  // The lanes of a mask meet in __syncwarp: what each has done or known comes before what any of them does next.
  POLYTILE_EMULATOR_QUIET void meet(unsigned warp, unsigned lanes) {
    WarpClock &clock = warps_[warp];
    if (clock.segment != segment_) clock = {}, clock.segment = segment_;
    if (wide_) return meet_widely(warp, lanes);
    unsigned joined[kWarp] = {};
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
      const unsigned lane = static_cast<unsigned>(__builtin_ctz(rest));
      for (unsigned other = 0; other < kWarp; ++other)
        if (joined[other] < clock.known[lane][other]) joined[other] = clock.known[lane][other];
    }
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
      const unsigned lane = static_cast<unsigned>(__builtin_ctz(rest));
      joined[lane] = ++clock.time[lane];
    }
    for (unsigned rest = lanes; rest; rest &= rest - 1)
      memcpy(clock.known[__builtin_ctz(rest)], joined, sizeof joined);
  }

  // From now on threads may be ordered with threads of other warps.
  POLYTILE_EMULATOR_QUIET void widen() {
    if (wide_) return;
    const size_t size = kMaxThreads * sizeof(Knowledge);
    if (!known_ && !(known_ = static_cast<Knowledge *>(reserve_pages(size, PROT_READ | PROT_WRITE)))) abort();
    wide_ = true;
    for (unsigned w = 0; w * kWarp < block.threads; ++w)
      for (unsigned l = 0; l < kWarp && warps_[w].segment == segment_; ++l)
        memcpy(knowledge(w * kWarp + l).of + w * kWarp, warps_[w].known[l], sizeof warps_[w].known[l]);
  }
  POLYTILE_EMULATOR_QUIET bool is_wide() const { return wide_; }

  // What a thread knows now, when it is_wide().
  POLYTILE_EMULATOR_QUIET Knowledge &knowledge(unsigned thread) const {
    known_[thread].renew(segment_);
    return known_[thread];
  }

  // The thread's time, after it has moved on.
  POLYTILE_EMULATOR_QUIET unsigned advance(unsigned thread) {
    WarpClock &clock = warps_[thread / kWarp];
    if (clock.segment != segment_) clock = {}, clock.segment = segment_;
    return ++clock.time[thread % kWarp];
  }

  POLYTILE_EMULATOR_QUIET unsigned long long segment() const { return segment_; }
  POLYTILE_EMULATOR_QUIET unsigned time(unsigned thread) const {
    const WarpClock &clock = warps_[thread / kWarp];
    return clock.segment == segment_ ? clock.time[thread % kWarp] : 0;
  }

  // Whether nothing that runs from now on can be unordered with a segment.
  POLYTILE_EMULATOR_QUIET bool is_past(unsigned long long segment) const {
    return segment < launch_first_ || (segment >= block_first_ && segment < segment_);
  }
  POLYTILE_EMULATOR_QUIET bool in_earlier_block(unsigned long long segment) const {
    return segment >= launch_first_ && segment < block_first_;
  }

  // Whether an earlier moment comes before what thread `self` does now.
  POLYTILE_EMULATOR_QUIET bool happens_before(const Moment &earlier, unsigned self) const {
    if (is_past(earlier.segment)) return true;
    if (earlier.segment != segment_) return false;
    if (earlier.thread == self) return true;
    if (wide_) return earlier.time < knowledge(self).of[earlier.thread];
    const unsigned warp = self / kWarp;
    if (earlier.thread / kWarp != warp || warps_[warp].segment != segment_) return false;
    return earlier.time < warps_[warp].known[self % kWarp][earlier.thread % kWarp];
  }

  // The index in the grid of the block, of this launch, that a segment belongs to: blocks run in order.
  POLYTILE_EMULATOR_QUIET unsigned long long block_of(unsigned long long segment) const {
    size_t low = 0, high = blocks_;
    while (high - low > 1) {
      const size_t middle = low + (high - low) / 2;
      if (firsts_[middle] <= segment)
        low = middle;
      else
        high = middle;
    }
    return low;
  }

 private:
  struct WarpClock {
    unsigned long long segment;
    unsigned time[kWarp];          // how often each lane was in __syncwarp
    unsigned known[kWarp][kWarp];  // known[a][b]: a comes after what b did while its time was less than this
  };

  POLYTILE_EMULATOR_QUIET void meet_widely(unsigned warp, unsigned lanes) {
    static Knowledge joined;
    joined.segment = 0;
    joined.renew(segment_);
    for (unsigned rest = lanes; rest; rest &= rest - 1)
      joined.join(knowledge(warp * kWarp + static_cast<unsigned>(__builtin_ctz(rest))), block.threads);
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
      const unsigned thread = warp * kWarp + static_cast<unsigned>(__builtin_ctz(rest));
      joined.of[thread] = advance(thread);
    }
    for (unsigned rest = lanes; rest; rest &= rest - 1)
      known_[warp * kWarp + static_cast<unsigned>(__builtin_ctz(rest))] = joined;
  }

  bool wide_ = false;
  Knowledge *known_ = nullptr;  // of each thread, when it is_wide()
  unsigned long long segment_ = 0, block_first_ = 0, launch_first_ = 0;
  unsigned long long *firsts_ = nullptr;  // the first segment of each block of the launch
  size_t blocks_ = 0, room_ = 0;
  WarpClock warps_[kMaxThreads / kWarp] = {};
};

inline Clocks clocks;

}  // namespace polytile_emulator

#pragma GCC visibility pop

#endif
