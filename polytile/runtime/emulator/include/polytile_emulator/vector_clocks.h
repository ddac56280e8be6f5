// What every thread of a block knows of every other one's time, where threads of several warps are ordered one by one.
#ifndef POLYTILE_EMULATOR_VECTOR_CLOCKS_H
#define POLYTILE_EMULATOR_VECTOR_CLOCKS_H

#pragma GCC visibility push(hidden)

namespace polytile_emulator {

// What is known of each thread: all that it did while its time was less than this. Holds for one segment.
struct Knowledge {
  unsigned long long segment;
  unsigned of[kMaxThreads];

  // As of a segment: older ones are known by all.
  POLYTILE_EMULATOR_QUIET void renew(unsigned long long now) {
    if (segment == now) return;
    memset(of, 0, sizeof of);
    segment = now;
  }

  POLYTILE_EMULATOR_QUIET void join(const Knowledge &other, unsigned threads) {
    if (other.segment != segment) return;
    for (unsigned t = 0; t < threads; ++t) of[t] = of[t] < other.of[t] ? other.of[t] : of[t];
  }

  // Whether all that is known here, but for what thread `self` did, is known there.
  POLYTILE_EMULATOR_QUIET bool within(const Knowledge &other, unsigned threads, unsigned self) const {
    for (unsigned t = 0; t < threads; ++t)
      if (t != self && of[t] > (other.segment == segment ? other.of[t] : 0)) return false;
    return true;
  }
};

}  // namespace polytile_emulator

#pragma GCC visibility pop

#endif
