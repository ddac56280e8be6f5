// Runs the threads of a block, one block after another, on one host thread.
//
// A thread runs on a fiber. When it ends without having waited, the same fiber runs the block's next thread, so a
// kernel without barriers never switches. A thread that waits parks, and its fiber continues with whatever can run:
// first a thread that was released, then a thread that has not started, then one that yielded. When nothing can run
// the block is stuck; that is reported, never waited for.
//
// Everything that makes a thread wait (barriers here, shuffles in warp.h) goes through park() and release(), every
// switch through transfer(). What an observer is told of it stands in access.h.
#ifndef POLYTILE_EMULATOR_SCHEDULER_H
#define POLYTILE_EMULATOR_SCHEDULER_H

#pragma GCC visibility push(hidden)

inline uint3 threadIdx;
inline uint3 blockIdx;
inline dim3 blockDim;
inline dim3 gridDim;
static constexpr int warpSize = 32;

namespace polytile_emulator {

constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kWarp = 32;

// Where in the source a thread waits.
struct Site {
  const char *file;
  const char *function;
  int line;
  uintptr_t where = 0;  // the return address of the call, where it is known
};

POLYTILE_EMULATOR_QUIET inline bool same_site(const Site &a, const Site &b) {
  return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

enum class State : unsigned char { unstarted, runnable, barrier, warp, split, grid, yielded, exited };

struct Thread {
  Fiber *fiber;
  State state;
  unsigned char operation;  // of a warp, while state is warp
  unsigned char source;     // the lane whose value is wanted
  unsigned mask;
  Site site;
  unsigned long long value;
  unsigned long long result;
  unsigned long long waited;  // the moment at which its last wait ended
};

// First in, first out; a thread is in it at most once.
struct Queue {
  unsigned head, tail;
  unsigned short items[kMaxThreads];

  POLYTILE_EMULATOR_QUIET bool empty() const { return head == tail; }
  POLYTILE_EMULATOR_QUIET void push(unsigned thread) { items[tail++ % kMaxThreads] = static_cast<unsigned short>(thread); }
  POLYTILE_EMULATOR_QUIET unsigned pop() { return items[head++ % kMaxThreads]; }
};

// Lanes of one warp that wait for one another in one operation.
struct Meeting {
  unsigned char operation;
  unsigned mask;
  unsigned arrived;
};

struct Warp {
  unsigned exited;  // lanes that ended, or that never were
  unsigned open;
  unsigned syncs;  // how many __syncwarp have concluded
  Meeting meetings[kWarp];
};

struct Barrier {
  unsigned opened;  // how often
  unsigned waiting;
  bool diverged;
  Site site;
  unsigned holding;  // threads whose predicate held
  unsigned result_count;
  bool result_all;
};

// The kernel with its arguments, as a function of nothing.
struct Body {
  void (*run)(const void *self);
  const void *self;
  size_t size;  // of what self points to
  const void *kernel;
  const void *const *pointers;  // the arguments, null for those that are no pointers
  unsigned parameters;
};

struct Counts {
  unsigned long long launches, blocks, threads, barriers;
};

struct SplitBarrier;

struct Block {
  Body body;
  size_t dynamic_shared;  // bytes
  unsigned threads;  // in this block
  unsigned started;
  unsigned exited;
  uint3 next_index;  // threadIdx of the thread that starts next
  unsigned current;  // the running thread
  Fiber *fiber;      // and its fiber
  bool failed;
  unsigned long long idle_yields;
  unsigned long long moment;  // counts what threads may have waited for
  bool cooperative;      // as all blocks of the launch
  unsigned at_grid;      // threads that wait at the barrier of the grid
  unsigned asking;       // threads that ask which lanes are with them
  SplitBarrier *splits;  // those that were started
  Barrier barrier;
  Queue ready, yielded;
  Warp warps[kMaxThreads / kWarp];
  Thread thread[kMaxThreads];
  void *launcher;  // the context of run_block
};

inline Block block;
inline Counts counts;

[[noreturn]] POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE void abandon_block();
POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE void yield_thread(const Site &site);
POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE const Barrier &wait_at_barrier(bool predicate, const Site &site);

#if !defined(POLYTILE_EMULATOR_APART)

POLYTILE_EMULATOR_QUIET inline void fiber_main();
inline FiberPool fibers{fiber_main};

// In report.h and warp.h.
[[noreturn]] POLYTILE_EMULATOR_QUIET inline void fail_stuck();
[[noreturn]] POLYTILE_EMULATOR_QUIET inline void fail_diverged();
[[noreturn]] POLYTILE_EMULATOR_QUIET inline void fail_no_memory();
POLYTILE_EMULATOR_QUIET inline bool report_no_memory();
POLYTILE_EMULATOR_QUIET inline void meet_without(unsigned warp);
POLYTILE_EMULATOR_QUIET inline void answer_all();
// In copies.h, split_barrier.h and grid.h.
POLYTILE_EMULATOR_QUIET inline void end_copies();
POLYTILE_EMULATOR_QUIET inline void forget_copies();
POLYTILE_EMULATOR_QUIET inline void drop_splits();
POLYTILE_EMULATOR_QUIET inline void forget_splits();
POLYTILE_EMULATOR_QUIET inline bool run_together(const dim3 &grid);

// From the running fiber to another one.
POLYTILE_EMULATOR_QUIET inline void transfer(Fiber *from, Fiber *to) {
  block.fiber = to;
  polytile_emulator_switch(&from->context, to->context);
}

POLYTILE_EMULATOR_QUIET inline void return_to_launcher() { polytile_emulator_switch(&block.fiber->context, block.launcher); }


// Ends the launch; the fibers that still wait are dropped.
[[noreturn]] POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE void abandon_block() {
  block.failed = true;
  return_to_launcher();
  __builtin_unreachable();
}

POLYTILE_EMULATOR_QUIET inline Fiber *take_fiber() {
  Fiber *fiber = fibers.take();
  if (!fiber) fail_no_memory();
  return fiber;
}

// The fiber that runs next, when the running one cannot go on.
POLYTILE_EMULATOR_QUIET inline Fiber *next_fiber() {
  if (!block.ready.empty()) return block.thread[block.ready.pop()].fiber;
  if (block.started < block.threads) return take_fiber();
  if (block.asking) {
    answer_all();
    return block.thread[block.ready.pop()].fiber;
  }
  if (block.yielded.empty()) return nullptr;
  if (++block.idle_yields > 100000ull * kMaxThreads) fail_stuck();
  return block.thread[block.yielded.pop()].fiber;
}

// Waits until release(); block.thread[block.current] says for what.
POLYTILE_EMULATOR_QUIET inline void park() {
  const uint3 index = threadIdx;
  const unsigned self = block.current;
  Fiber *fiber = block.fiber;
  block.thread[self].fiber = fiber;
  Fiber *next = next_fiber();
  if (!next) fail_stuck();
  if (next != fiber) transfer(fiber, next);
  threadIdx = index;
  block.current = self;
  block.thread[self].state = State::runnable;
}

// What a thread waited for has come.
POLYTILE_EMULATOR_QUIET inline void end_wait(unsigned thread) {
  block.thread[thread].state = State::runnable;
  block.thread[thread].waited = ++block.moment;
}

POLYTILE_EMULATOR_QUIET inline void release(unsigned thread) {
  end_wait(thread);
  block.idle_yields = 0;
  block.ready.push(thread);
}

// Lets every other thread run before this one goes on: for loops that wait for memory to change.
POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE void yield_thread(const Site &site) {
  Thread &self = block.thread[block.current];
  self.state = State::yielded;
  self.site = site;
  block.yielded.push(block.current);
  park();
  end_wait(block.current);
}

// Opens the barrier: everyone who has not exited is there. The running thread is not released, as it runs.
POLYTILE_EMULATOR_QUIET inline void open_barrier(unsigned running) {
  Barrier &barrier = block.barrier;
  if (barrier.diverged) fail_diverged();
  barrier.result_count = barrier.holding;
  barrier.result_all = barrier.holding == barrier.waiting;
  barrier.waiting = 0;
  ++barrier.opened;
  ++counts.barriers;
  observer::barrier_opens();
  for (unsigned t = 0; t < block.threads; ++t)
    if (block.thread[t].state == State::barrier && t != running) release(t);
}

POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE const Barrier &wait_at_barrier(bool predicate, const Site &site) {
  Barrier &barrier = block.barrier;
  if (barrier.waiting == 0) {
    barrier.site = site;
    barrier.diverged = false;
    barrier.holding = 0;
  } else if (!same_site(barrier.site, site)) {
    barrier.diverged = true;
  }
  barrier.holding += predicate;
  Thread &self = block.thread[block.current];
  self.state = State::barrier;
  self.site = site;
  if (++barrier.waiting + block.exited == block.threads) {
    open_barrier(block.current);
    end_wait(block.current);
  } else {
    park();
  }
  return barrier;
}

POLYTILE_EMULATOR_QUIET inline void start_thread() {
  block.current = block.started++;
  block.thread[block.current].state = State::runnable;
  block.thread[block.current].waited = 0;
  threadIdx = block.next_index;
  observer::thread_begins();
  if (++block.next_index.x < blockDim.x) return;
  block.next_index.x = 0;
  if (++block.next_index.y < blockDim.y) return;
  block.next_index.y = 0;
  ++block.next_index.z;
}

POLYTILE_EMULATOR_QUIET inline void finish_thread() {
  const unsigned self = block.current;
  end_copies();
  observer::thread_ends();
  block.thread[self].state = State::exited;
  ++block.exited;
  block.idle_yields = 0;
  Warp &warp = block.warps[self / kWarp];
  warp.exited |= 1u << self % kWarp;
  if (warp.open) meet_without(self / kWarp);
  if (block.barrier.waiting && block.barrier.waiting + block.exited == block.threads) open_barrier(kMaxThreads);
}

// A fiber's whole life: the threads that have not started, then away until there are more.
POLYTILE_EMULATOR_QUIET inline void fiber_main() {
  Fiber *const self = block.fiber;
  for (;;) {
    while (block.ready.empty() && block.started < block.threads) {
      start_thread();
      block.body.run(block.body.self);
      finish_thread();
    }
    Fiber *next = next_fiber();
    if (!next && block.exited != block.threads) fail_stuck();
    fibers.give(self);
    if (next)
      transfer(self, next);
    else
      return_to_launcher();
  }
}

POLYTILE_EMULATOR_QUIET inline void reset_block(unsigned threads) {
  block.threads = threads;
  block.started = block.exited = 0;
  block.next_index = {0, 0, 0};
  block.idle_yields = 0;
  block.barrier.waiting = block.barrier.opened = 0;
  block.moment = block.at_grid = block.asking = 0;
  block.ready.head = block.ready.tail = block.yielded.head = block.yielded.tail = 0;
  const unsigned warps = (threads + kWarp - 1) / kWarp;
  for (unsigned w = 0; w < warps; ++w) block.warps[w].exited = block.warps[w].open = block.warps[w].syncs = 0;
  if (threads % kWarp) block.warps[warps - 1].exited = ~0u << threads % kWarp;
}

// Runs the block on block.fiber until all of its threads have ended, or wait for the grid.
POLYTILE_EMULATOR_QUIET inline bool continue_block() {
  observing = true;
  polytile_emulator_switch(&block.launcher, block.fiber->context);
  observing = false;
  return !block.failed;
}

POLYTILE_EMULATOR_QUIET inline bool begin_block() {
  reset_block(blockDim.x * blockDim.y * blockDim.z);
  block.fiber = fibers.take();
  if (!block.fiber) return report_no_memory();
  observer::block_begins();
  return continue_block();
}

POLYTILE_EMULATOR_QUIET inline void end_block() {
  drop_splits();
  observer::block_ends();
  ++counts.blocks;
  counts.threads += block.threads;
}

// Runs the blocks in the order of their index; false as soon as one fails.
POLYTILE_EMULATOR_QUIET inline bool run_blocks(const dim3 &grid) {
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        if (!begin_block()) return false;
        end_block();
      }
  return true;
}

POLYTILE_EMULATOR_QUIET inline bool run_grid(const Body &body, const dim3 &grid, const dim3 &threads) {
  block.body = body;
  block.failed = false;
  gridDim = grid;
  blockDim = threads;
  observer::launch_begins();
  const bool done = block.cooperative ? run_together(grid) : run_blocks(grid);
  if (!done) {
    forget_splits();
    forget_copies();
    fibers.restart_all();
  }
  observer::launch_ends();
  return done;
}

#endif

}  // namespace polytile_emulator

#pragma GCC visibility pop

#endif
