// Barriers, shuffles and votes as a kernel writes them.
//
// A warp operation is a meeting of the lanes named in its mask. As on Volta and later, lanes that have exited count as
// arrived, and lanes may come from different lines. When the last lane arrives, the result of every lane is computed
// at once, so that a lane that runs ahead to its next operation disturbs nobody.
#ifndef POLYTILE_EMULATOR_WARP_H
#define POLYTILE_EMULATOR_WARP_H

#pragma GCC visibility push(hidden)

namespace polytile_emulator {

enum Operation : unsigned char { kSync, kShuffle, kBallot, kAny, kAll, kMultiply, kActive };

POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE unsigned long long meet(Operation operation, unsigned mask, unsigned long long value,
                                                                        unsigned source, const Site &site);
POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE unsigned active_lanes(const Site &site);

#if !defined(POLYTILE_EMULATOR_APART)

POLYTILE_EMULATOR_QUIET inline const char *operation_name(unsigned char operation) {
  static const char *const names[] = {"__syncwarp",   "a shuffle",  "__ballot_sync",
                                      "__any_sync", "__all_sync", "a matrix product", "__activemask"};
  return names[operation];
}

// What a lane reads from one that did not take part: undefined in CUDA, a NaN or -1 here so that it is seen.
constexpr unsigned long long kUndefined = ~0ull;

POLYTILE_EMULATOR_QUIET inline unsigned ballot(const Thread *lanes, unsigned arrived) {
  unsigned votes = 0;
  for (unsigned l = 0; l < kWarp; ++l)
    if (arrived >> l & 1 && lanes[l].value) votes |= 1u << l;
  return votes;
}

// In matrix.h.
POLYTILE_EMULATOR_QUIET inline void multiply(Thread *threads, unsigned arrived);

POLYTILE_EMULATOR_QUIET inline void conclude(const Meeting &meeting, Thread *lanes) {
  const unsigned arrived = meeting.arrived;
  if (meeting.operation == kSync) return;
  if (meeting.operation == kMultiply) return multiply(lanes, arrived);
  if (meeting.operation == kShuffle) {
    for (unsigned l = 0; l < kWarp; ++l)
      if (arrived >> l & 1) lanes[l].result = arrived >> lanes[l].source & 1 ? lanes[lanes[l].source].value : kUndefined;
    return;
  }
  const unsigned votes = ballot(lanes, arrived);
  const unsigned long long result = meeting.operation == kBallot ? votes
                                    : meeting.operation == kAny  ? votes != 0
                                                                 : votes == arrived;
  for (unsigned l = 0; l < kWarp; ++l)
    if (arrived >> l & 1) lanes[l].result = result;
}

// Concludes the meeting if everyone is there, and releases all lanes but the running one.
POLYTILE_EMULATOR_QUIET inline bool try_conclude(unsigned w, unsigned index, unsigned running) {
  Warp &warp = block.warps[w];
  const Meeting meeting = warp.meetings[index];
  if ((meeting.arrived | warp.exited | ~meeting.mask) != ~0u) return false;
  conclude(meeting, &block.thread[w * kWarp]);
  observer::warp_concludes(w, meeting.operation, meeting.arrived);
  if (meeting.operation == kSync) ++warp.syncs;
  warp.meetings[index] = warp.meetings[--warp.open];
  for (unsigned l = 0; l < kWarp; ++l)
    if (meeting.arrived >> l & 1 && w * kWarp + l != running) release(w * kWarp + l);
  return true;
}

// A lane has exited: meetings that waited only for it conclude.
POLYTILE_EMULATOR_QUIET inline void meet_without(unsigned w) {
  for (unsigned i = block.warps[w].open; i-- > 0;) try_conclude(w, i, kMaxThreads);
}

POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE unsigned long long meet(Operation operation, unsigned mask, unsigned long long value,
                                                                        unsigned source, const Site &site) {
  const unsigned self = block.current, w = self / kWarp, lane = self % kWarp;
  Thread &me = block.thread[self];
  me.operation = operation;
  me.source = static_cast<unsigned char>(source);
  me.mask = mask;
  me.site = site;
  me.value = value;
  me.state = State::warp;
  if (!(mask >> lane & 1)) fail("a lane that its own mask does not name", site.function);
  Warp &warp = block.warps[w];
  unsigned i = 0;
  while (i < warp.open && (warp.meetings[i].operation != operation || warp.meetings[i].mask != mask)) ++i;
  if (i == warp.open) warp.meetings[warp.open++] = {operation, mask, 0};
  warp.meetings[i].arrived |= 1u << lane;
  if (try_conclude(w, i, self)) {
    end_wait(self);
  } else {
    park();
  }
  return me.result;
}

// The lanes of a warp that ask on one line are told of one another, and go on.
POLYTILE_EMULATOR_QUIET inline void answer(unsigned w, unsigned first) {
  unsigned together = 0;
  const Site site = block.thread[first].site;
  const unsigned end = block.started < (w + 1) * kWarp ? block.started : (w + 1) * kWarp;
  for (unsigned t = first; t < end; ++t) {
    const Thread &other = block.thread[t];
    if (other.state == State::warp && other.operation == kActive && same_site(other.site, site)) together |= 1u << t % kWarp;
  }
  for (unsigned t = first; t < end; ++t) {
    if (!(together >> t % kWarp & 1)) continue;
    block.thread[t].result = together;
    release(t);
    --block.asking;
  }
}

// No thread of the block can run: whoever comes to a line together with the lanes that ask there has come.
POLYTILE_EMULATOR_QUIET inline void answer_all() {
  for (unsigned t = 0; t < block.started; ++t)
    if (block.thread[t].state == State::warp && block.thread[t].operation == kActive) answer(t / kWarp, t);
}

POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE unsigned active_lanes(const Site &site) {
  Thread &me = block.thread[block.current];
  me.operation = kActive;
  me.mask = 1u << block.current % kWarp;
  me.site = site;
  me.state = State::warp;
  ++block.asking;
  park();
  return static_cast<unsigned>(me.result);
}

#endif

POLYTILE_EMULATOR_QUIET inline unsigned lane_id() { return block.current % kWarp; }

// The source lanes of the four shuffles, as PTX defines them (the last lane of a segment is `end`).
POLYTILE_EMULATOR_QUIET inline unsigned source_indexed(int lane, int width) {
  const unsigned segment = static_cast<unsigned>(width) - 1;
  return (lane_id() & ~segment) | (static_cast<unsigned>(lane) & segment);
}
POLYTILE_EMULATOR_QUIET inline unsigned source_up(unsigned delta, int width) {
  const unsigned first = lane_id() & ~(static_cast<unsigned>(width) - 1);
  delta &= 31;
  return lane_id() >= first + delta ? lane_id() - delta : lane_id();
}
POLYTILE_EMULATOR_QUIET inline unsigned source_down(unsigned delta, int width) {
  const unsigned end = lane_id() | (static_cast<unsigned>(width) - 1);
  const unsigned wanted = lane_id() + (delta & 31);
  return wanted <= end ? wanted : lane_id();
}
POLYTILE_EMULATOR_QUIET inline unsigned source_xor(int lanes, int width) {
  const unsigned end = lane_id() | (static_cast<unsigned>(width) - 1);
  const unsigned wanted = lane_id() ^ (static_cast<unsigned>(lanes) & 31);
  return wanted <= end ? wanted : lane_id();
}

template <class T>
POLYTILE_EMULATOR_QUIET inline T shuffle(unsigned mask, T value, unsigned source, const Site &site) {
  unsigned long long bits = 0;
  memcpy(&bits, &value, sizeof value);
  bits = meet(kShuffle, mask, bits, source, site);
  memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace polytile_emulator

#define POLYTILE_EMULATOR_HERE \
  polytile_emulator::Site { site_file, site_function, site_line }

POLYTILE_EMULATOR_QUIET inline void __syncthreads(POLYTILE_EMULATOR_SITE) { polytile_emulator::wait_at_barrier(false, POLYTILE_EMULATOR_HERE); }
POLYTILE_EMULATOR_QUIET inline int __syncthreads_count(int predicate, POLYTILE_EMULATOR_SITE) {
  return static_cast<int>(polytile_emulator::wait_at_barrier(predicate != 0, POLYTILE_EMULATOR_HERE).result_count);
}
POLYTILE_EMULATOR_QUIET inline int __syncthreads_and(int predicate, POLYTILE_EMULATOR_SITE) {
  return polytile_emulator::wait_at_barrier(predicate != 0, POLYTILE_EMULATOR_HERE).result_all;
}
POLYTILE_EMULATOR_QUIET inline int __syncthreads_or(int predicate, POLYTILE_EMULATOR_SITE) {
  return polytile_emulator::wait_at_barrier(predicate != 0, POLYTILE_EMULATOR_HERE).result_count != 0;
}

POLYTILE_EMULATOR_QUIET inline void __syncwarp(unsigned mask = ~0u, POLYTILE_EMULATOR_SITE) {
  polytile_emulator::meet(polytile_emulator::kSync, mask, 0, 0, POLYTILE_EMULATOR_HERE);
}
POLYTILE_EMULATOR_QUIET inline unsigned __ballot_sync(unsigned mask, int predicate, POLYTILE_EMULATOR_SITE) {
  return static_cast<unsigned>(
      polytile_emulator::meet(polytile_emulator::kBallot, mask, predicate != 0, 0, POLYTILE_EMULATOR_HERE));
}
POLYTILE_EMULATOR_QUIET inline int __any_sync(unsigned mask, int predicate, POLYTILE_EMULATOR_SITE) {
  return static_cast<int>(
      polytile_emulator::meet(polytile_emulator::kAny, mask, predicate != 0, 0, POLYTILE_EMULATOR_HERE));
}
POLYTILE_EMULATOR_QUIET inline int __all_sync(unsigned mask, int predicate, POLYTILE_EMULATOR_SITE) {
  return static_cast<int>(
      polytile_emulator::meet(polytile_emulator::kAll, mask, predicate != 0, 0, POLYTILE_EMULATOR_HERE));
}
// The lanes that come to this line, as far as they need no other to ask here first: a warp runs together where it can.
POLYTILE_EMULATOR_QUIET inline unsigned __activemask(POLYTILE_EMULATOR_SITE) {
  return polytile_emulator::active_lanes(POLYTILE_EMULATOR_HERE);
}
POLYTILE_EMULATOR_QUIET inline void __nanosleep(unsigned, POLYTILE_EMULATOR_SITE) { polytile_emulator::yield_thread(POLYTILE_EMULATOR_HERE); }
POLYTILE_EMULATOR_QUIET inline void __trap(POLYTILE_EMULATOR_SITE) {
  (void)site_line, (void)site_file;
  polytile_emulator::fail("__trap", site_function);
}

#define POLYTILE_EMULATOR_SHUFFLES(T)                                                                              \
  POLYTILE_EMULATOR_QUIET inline T __shfl_sync(unsigned mask, T value, int lane, int width = 32, POLYTILE_EMULATOR_SITE) {                 \
    return polytile_emulator::shuffle(mask, value, polytile_emulator::source_indexed(lane, width),                 \
                                      POLYTILE_EMULATOR_HERE);                                                     \
  }                                                                                                                \
  POLYTILE_EMULATOR_QUIET inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, POLYTILE_EMULATOR_SITE) {        \
    return polytile_emulator::shuffle(mask, value, polytile_emulator::source_up(delta, width),                     \
                                      POLYTILE_EMULATOR_HERE);                                                     \
  }                                                                                                                \
  POLYTILE_EMULATOR_QUIET inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, POLYTILE_EMULATOR_SITE) {      \
    return polytile_emulator::shuffle(mask, value, polytile_emulator::source_down(delta, width),                   \
                                      POLYTILE_EMULATOR_HERE);                                                     \
  }                                                                                                                \
  POLYTILE_EMULATOR_QUIET inline T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, POLYTILE_EMULATOR_SITE) {            \
    return polytile_emulator::shuffle(mask, value, polytile_emulator::source_xor(lanes, width),                    \
                                      POLYTILE_EMULATOR_HERE);                                                     \
  }

POLYTILE_EMULATOR_SHUFFLES(int)
POLYTILE_EMULATOR_SHUFFLES(unsigned)
POLYTILE_EMULATOR_SHUFFLES(long)
POLYTILE_EMULATOR_SHUFFLES(unsigned long)
POLYTILE_EMULATOR_SHUFFLES(long long)
POLYTILE_EMULATOR_SHUFFLES(unsigned long long)
POLYTILE_EMULATOR_SHUFFLES(float)
POLYTILE_EMULATOR_SHUFFLES(double)

#undef POLYTILE_EMULATOR_SHUFFLES

#pragma GCC visibility pop

#endif
