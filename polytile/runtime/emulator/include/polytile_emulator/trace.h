// Puts the lanes of a warp together again.
//
// The emulator runs a thread until it waits, so what the 32 lanes of a warp do at the same time on a GPU comes one lane
// after the other. Each lane therefore writes a trace: the basic blocks of the kernel that it enters, and its accesses.
// merge() replays the traces of a warp as a GPU would run them:
//
//   - Of the lanes, those whose next event is first in the order of the blocks (flow.h) step together, and the others
//     wait for them. So lanes that part at a condition meet again where it ends, and lanes that have left a loop wait
//     behind it for the rest. (Diamos et al., "SIMD re-convergence at thread frontiers", MICRO 2011.)
//   - A lane that jumps back waits at the end of its loop, so that no lane begins an iteration before all lanes have
//     ended the one before.
//   - Nothing is done while a lane that may come first has not been heard of: it runs on a fiber that will write more.
//
// A trace holds kRoom events. A lane whose trace is full has its warp merged, and yields while that does not help.
//
// The order of the blocks is sure only when all of the control flow is known. So a program runs twice: first `learning`,
// when nothing but the flow is noted, then to be counted. Without the first run the flow is learned along the way, which
// is early enough unless a trace was full before a lane had shown where it leads.
#ifndef POLYTILE_EMULATOR_TRACE_H
#define POLYTILE_EMULATOR_TRACE_H

#include "polytile_emulator/flow.h"

#pragma GCC visibility push(hidden)

namespace polytile_emulator {

enum class EventKind : unsigned char { read, write, atomic, enter };  // AccessKind, or the start of a block

struct Event {
  unsigned block, site;  // site 0: the block is entered
  unsigned long long address : 52;
  unsigned long long size : 8;
  unsigned long long kind_ : 4;

  POLYTILE_EMULATOR_QUIET EventKind kind() const { return static_cast<EventKind>(kind_); }
};

// The order of the events of one warp.
typedef unsigned long long When;
constexpr When kNever = ~0ull;

#if !defined(POLYTILE_EMULATOR_TRACE_ROOM)
#define POLYTILE_EMULATOR_TRACE_ROOM 1024
#endif
constexpr unsigned kRoom = POLYTILE_EMULATOR_TRACE_ROOM;
constexpr unsigned kWarps = kMaxThreads / kWarp;
inline Event trace_memory[kMaxThreads][kRoom];

struct Trace {
  Event *events;
  unsigned first, last;  // of the events that have not been merged, modulo kRoom
  unsigned merged;       // the block of the last event that has been
  unsigned block;        // that of the last event
  bool away;             // it is in a function that the kernel called

  POLYTILE_EMULATOR_QUIET bool empty() const { return first == last; }
  POLYTILE_EMULATOR_QUIET bool full() const { return last - first == kRoom; }
  POLYTILE_EMULATOR_QUIET const Event &front() const { return events[first % kRoom]; }
  POLYTILE_EMULATOR_QUIET void add(const Event &event) { events[last++ % kRoom] = event; }
};

// In count.h: lanes of warp w, one bit each, enter a block together, or make an access together.
inline void on_block(unsigned w, unsigned lanes);
inline void on_request(unsigned lanes, const Event *const *events);

class Tracer {
 public:
  bool learning = false;

  // A kernel whose machine code begins at `from`. What is known of its flow is kept from launch to launch.
  POLYTILE_EMULATOR_QUIET void begin_launch(unsigned from, unsigned to) {
    from_ = from;
    size_ = to - from;
    flow_ = nullptr;
    for (unsigned i = 0; i < known_.size(); ++i)
      if (known_[i].kernel == from) flow_ = known_[i].flow;
    if (!flow_) flow_ = known_.add({from, new Flow}).flow;
  }

  POLYTILE_EMULATOR_QUIET void begin_block() {
    const unsigned warps = (block.threads + kWarp - 1) / kWarp;
    for (unsigned t = 0; t < warps * kWarp; ++t) traces_[t] = {trace_memory[t], 0, 0, Flow::kStart, Flow::kStart, false};
    for (unsigned w = 0; w < warps; ++w) ended_[w] = 0;
    if (block.threads % kWarp) ended_[warps - 1] = ~0u << block.threads % kWarp;
  }

  POLYTILE_EMULATOR_QUIET void enter(unsigned site) {
    Trace &trace = room();
    trace.away = site - from_ >= size_;
    trace.block = flow_->follow(trace.block, site);
    if (!learning) trace.add({trace.block, 0, 0, 0, static_cast<unsigned char>(EventKind::enter)});
  }

  POLYTILE_EMULATOR_QUIET void access(uintptr_t address, unsigned size, AccessKind kind, unsigned site) {
    if (traces_[block.current].away && site - from_ < size_) enter(site);  // back from a call, in the midst of a block
    if (learning) return;
    Trace &trace = room();
    trace.add({trace.block, site, address, size, static_cast<unsigned char>(kind)});
  }

  POLYTILE_EMULATOR_QUIET void end_thread() {
    const unsigned w = block.current / kWarp;
    ended_[w] |= 1u << block.current % kWarp;
    if (ended_[w] == ~0u) merge(w);
  }

  // What is different in each block. All traces are merged.
  POLYTILE_EMULATOR_QUIET void add_parts(Parts &parts) {
    parts.add(traces_, sizeof traces_);
    parts.add(ended_, sizeof ended_);
  }

  // Every thread that has not ended waits at a barrier.
  POLYTILE_EMULATOR_QUIET void at_barrier() {
    for (unsigned w = 0; w * kWarp < block.threads; ++w) merge(w);
  }

 private:
  POLYTILE_EMULATOR_QUIET Trace &room() {
    Trace &trace = traces_[block.current];
    while (trace.full()) {
      merge(block.current / kWarp);
      if (trace.full()) yield_thread({"", "", 0});
      block.idle_yields = 0;
    }
    return trace;
  }

  // The order of a lane's next event. A jump back comes behind all of its loop, that of an inner loop first.
  POLYTILE_EMULATOR_QUIET When next(const Trace &trace) const {
    const Event &event = trace.front();
    const unsigned position = flow_->position(event.block);
    if (event.site || position > flow_->position(trace.merged)) return static_cast<When>(2 * position) << 32 | event.site;
    return static_cast<When>(2 * flow_->end(event.block) + 1) << 32 | ~position;
  }

  // Whether the lane, all of whose events are merged, may have its next one before those of the others.
  POLYTILE_EMULATOR_QUIET bool may_precede(unsigned thread) const {
    if (ended_[thread / kWarp] >> thread % kWarp & 1) return false;
    if (thread >= block.started) return true;
    const State state = block.thread[thread].state;
    return state == State::unstarted || state == State::runnable || state == State::yielded;
  }

  // Sets when[lane]; false when the lane has to be heard first.
  POLYTILE_EMULATOR_QUIET bool look(unsigned w, unsigned lane, When *when) const {
    const Trace &trace = traces_[w * kWarp + lane];
    when[lane] = trace.empty() ? kNever : next(trace);
    return !trace.empty() || !may_precede(w * kWarp + lane);
  }

  // Replays what can be replayed of the traces of warp w.
  POLYTILE_EMULATOR_QUIET void merge(unsigned w) {
    When when[kWarp];
    flow_->arrange();
    bool known = true;
    for (unsigned l = 0; l < kWarp; ++l) known &= look(w, l, when);
    while (known) {
      When least = kNever;
      for (unsigned l = 0; l < kWarp; ++l) least = when[l] < least ? when[l] : least;
      if (least == kNever) return;
      unsigned lanes = 0;
      for (unsigned l = 0; l < kWarp; ++l) lanes |= static_cast<unsigned>(when[l] == least) << l;
      known = step(w, lanes, when);
    }
  }

  // The lanes step together; false when one of them has to be heard next.
  POLYTILE_EMULATOR_QUIET bool step(unsigned w, unsigned lanes, When *when) {
    const Event *events[kWarp];
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
      const unsigned l = static_cast<unsigned>(__builtin_ctz(rest));
      events[l] = &traces_[w * kWarp + l].front();
    }
    if (events[__builtin_ctz(lanes)]->kind() == EventKind::enter)
      on_block(w, lanes);
    else
      on_request(lanes, events);
    bool known = true;
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
      const unsigned l = static_cast<unsigned>(__builtin_ctz(rest));
      Trace &trace = traces_[w * kWarp + l];
      trace.merged = events[l]->block;
      ++trace.first;
      known &= look(w, l, when);
    }
    return known;
  }

  struct Known {
    unsigned kernel;
    Flow *flow;
  };

  unsigned from_ = 0, size_ = 0;
  List<Known> known_;
  Flow *flow_ = nullptr;
  unsigned ended_[kWarps] = {};
  Trace traces_[kMaxThreads] = {};
};

inline Tracer tracer;

}  // namespace polytile_emulator

#pragma GCC visibility pop

#endif
