// Puts the lanes of a warp together again.
//
// The emulator runs a thread until it waits, so what the 32 lanes of a warp do at the same time on a GPU comes one lane
// after the other. Each lane therefore writes a trace: the basic blocks of the kernel that it enters, and its accesses.
// merge() replays the traces of a warp as a GPU would run them:
//
//   - The lanes whose next event is at the lowest address of the machine code step together; the others wait for them.
//     Code is compiled to stand in the order of the source, so that lanes that part at a condition meet again where it
//     ends, and lanes that leave a loop wait behind it for the rest. (Diamos et al., "SIMD re-convergence at thread
//     frontiers", MICRO 2011, section 4: the priority of a block is its place.)
//   - A lane that jumps back waits at the last instruction from which any lane ever jumped back there, so that no lane
//     begins an iteration before all lanes have ended the one before.
//   - Nothing is done while a lane that may come first has not been heard of: it runs on a fiber that will write more.
//
// A trace holds kRoom events. A lane whose trace is full has its warp merged, and yields while that does not help.
#ifndef POLYTILE_EMULATOR_TRACE_H
#define POLYTILE_EMULATOR_TRACE_H

#pragma GCC visibility push(hidden)

namespace polytile_emulator {

// When an event happens within its warp: the offset in the library of the kernel's instruction, then, for an access in a
// function that the kernel calls, that of its own. The start of a block is not the place of an access.
typedef unsigned long long When;
constexpr When kNever = ~0ull;

struct Event {
  unsigned place, site;                // site 0: the kernel enters the block at place
  unsigned long long address : 52;
  unsigned long long size : 8;         // 0: the block was entered by a jump back
  unsigned long long kind : 4;

  POLYTILE_EMULATOR_QUIET When when() const { return static_cast<When>(place) << 32 | site; }
};

constexpr unsigned kRoom = 1024;
constexpr unsigned kWarps = kMaxThreads / kWarp;

struct Trace {
  unsigned first, last;  // of the events that have not been merged, modulo kRoom
  unsigned place;        // of the last event
  Event *events;

  POLYTILE_EMULATOR_QUIET bool empty() const { return first == last; }
  POLYTILE_EMULATOR_QUIET bool full() const { return last - first == kRoom; }
  POLYTILE_EMULATOR_QUIET const Event &front() const { return events[first % kRoom]; }
  POLYTILE_EMULATOR_QUIET void add(const Event &event) {
    events[last++ % kRoom] = event;
    place = event.place;
  }
};

// Where the loop ends whose first block is at a place, as far as lanes have jumped back.
class LoopEnds {
 public:
  POLYTILE_EMULATOR_QUIET unsigned of(unsigned head) const {
    for (unsigned i = head; entries_[i % kEntries].head; ++i)
      if (entries_[i % kEntries].head == head) return entries_[i % kEntries].end;
    return head;
  }

  POLYTILE_EMULATOR_QUIET void extend(unsigned head, unsigned end) {
    unsigned i = head % kEntries;
    while (entries_[i].head && entries_[i].head != head) i = (i + 1) % kEntries;
    if (!entries_[i].head && count_ == kEntries / 2) return;
    count_ += !entries_[i].head;
    entries_[i].head = head;
    if (entries_[i].end < end) entries_[i].end = end;
  }

 private:
  struct Entry {
    unsigned head, end;
  };
  static constexpr unsigned kEntries = 4096;
  unsigned count_ = 0;
  Entry entries_[kEntries] = {};
};

// In count.h: lanes of warp w, one bit each, enter a block together, or make an access together.
inline void on_block(unsigned w, unsigned lanes, unsigned place);
inline void on_request(unsigned lanes, const Event *const *events);

inline Event trace_memory[kMaxThreads][kRoom];

class Tracer {
 public:
  // The machine code of the kernel; only blocks in it are followed.
  POLYTILE_EMULATOR_QUIET void begin_launch(unsigned from, unsigned to) {
    from_ = from;
    size_ = to - from;
  }

  POLYTILE_EMULATOR_QUIET void begin_block() {
    const unsigned warps = (block.threads + kWarp - 1) / kWarp;
    for (unsigned t = 0; t < warps * kWarp; ++t) traces_[t] = {0, 0, 0, trace_memory[t]};
    for (unsigned w = 0; w < warps; ++w) ended_[w] = 0;
    if (block.threads % kWarp) ended_[warps - 1] = ~0u << block.threads % kWarp;
  }

  POLYTILE_EMULATOR_QUIET bool follows(unsigned place) const { return place - from_ < size_; }

  POLYTILE_EMULATOR_QUIET void enter(unsigned place) {
    Trace &trace = room();
    const bool back = place <= trace.place;
    if (back) loops_.extend(place, trace.place);
    trace.add({place, 0, 0, !back, 0});
  }

  POLYTILE_EMULATOR_QUIET void access(uintptr_t address, unsigned size, AccessKind kind, unsigned site) {
    Trace &trace = room();
    trace.add({follows(site) ? site : trace.place, site, address, size, static_cast<unsigned char>(kind)});
  }

  POLYTILE_EMULATOR_QUIET void end_thread() {
    const unsigned w = block.current / kWarp;
    ended_[w] |= 1u << block.current % kWarp;
    if (ended_[w] == ~0u) merge(w);
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

  POLYTILE_EMULATOR_QUIET When next(const Trace &trace) const {
    const Event &event = trace.front();
    if (event.site || event.size) return event.when();
    return static_cast<When>(loops_.of(event.place)) << 32 | ~0u;
  }

  // Whether the lane, all of whose events are merged, may have its next one before those of the others.
  POLYTILE_EMULATOR_QUIET bool may_precede(unsigned thread) const {
    if (ended_[thread / kWarp] >> thread % kWarp & 1) return false;
    if (thread >= block.started) return true;
    const State state = block.thread[thread].state;
    return state != State::barrier && state != State::warp;
  }

  // Replays what can be replayed of the traces of warp w.
  POLYTILE_EMULATOR_QUIET void merge(unsigned w) {
    Trace *const traces = traces_ + w * kWarp;
    When when[kWarp];
    for (unsigned l = 0; l < kWarp; ++l) {
      when[l] = traces[l].empty() ? kNever : next(traces[l]);
      if (when[l] == kNever && may_precede(w * kWarp + l)) return;
    }
    for (;;) {
      When least = kNever;
      for (unsigned l = 0; l < kWarp; ++l) least = when[l] < least ? when[l] : least;
      if (least == kNever) return;
      unsigned lanes = 0;
      for (unsigned l = 0; l < kWarp; ++l) lanes |= static_cast<unsigned>(when[l] == least) << l;
      if (!step(w, lanes, when)) return;
    }
  }

  // The lanes step together; false when one of them has to be heard first.
  POLYTILE_EMULATOR_QUIET bool step(unsigned w, unsigned lanes, When *when) {
    Trace *const traces = traces_ + w * kWarp;
    const Event *events[kWarp];
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
      const unsigned l = static_cast<unsigned>(__builtin_ctz(rest));
      events[l] = &traces[l].front();
    }
    const Event &event = *events[__builtin_ctz(lanes)];
    if (event.site)
      on_request(lanes, events);
    else
      on_block(w, lanes, event.place);
    bool known = true;
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
      const unsigned l = static_cast<unsigned>(__builtin_ctz(rest));
      ++traces[l].first;
      when[l] = traces[l].empty() ? kNever : next(traces[l]);
      if (when[l] == kNever && may_precede(w * kWarp + l)) known = false;
    }
    return known;
  }

  unsigned from_ = 0, size_ = 0;
  LoopEnds loops_;
  unsigned ended_[kWarps] = {};
  Trace traces_[kMaxThreads] = {};
};

inline Tracer tracer;

}  // namespace polytile_emulator

#pragma GCC visibility pop

#endif
