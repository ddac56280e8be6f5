// Cooperative launches: all blocks are under way at once, and may wait for one another at a barrier of the grid.
//
// Blocks still run one after another, each until all of its threads wait for the grid. Then it is put aside: its
// threads stay on their fibers, and what there is once in this process, but for each block on a GPU (shared memory, the
// scheduler's own variables), is saved. When every block waits, each is brought back in turn.
#ifndef POLYTILE_EMULATOR_GRID_H
#define POLYTILE_EMULATOR_GRID_H

#pragma GCC visibility push(hidden)

namespace polytile_emulator {
POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE void wait_for_grid(const Site &site);
}

#if !defined(POLYTILE_EMULATOR_APART)

extern "C" char __start_polytile_fixed[] __attribute__((weak));
extern "C" char __stop_polytile_fixed[] __attribute__((weak));

namespace polytile_emulator {

// Memory that every block has of its own.
class Parts {
 public:
  POLYTILE_EMULATOR_QUIET void add(void *memory, size_t size) {
    if (!memory || !size) return;
    if (count_ == kMost) abort();
    parts_[count_++] = {static_cast<char *>(memory), size};
    size_ += size;
  }

  POLYTILE_EMULATOR_QUIET size_t size() const { return size_; }

  POLYTILE_EMULATOR_QUIET void save(char *to) const {
    for (unsigned i = 0; i < count_; to += parts_[i++].size) memcpy(to, parts_[i].memory, parts_[i].size);
  }
  POLYTILE_EMULATOR_QUIET void load(const char *from) const {
    for (unsigned i = 0; i < count_; from += parts_[i++].size) memcpy(parts_[i].memory, from, parts_[i].size);
  }

 private:
  static constexpr unsigned kMost = 16;

  struct Part {
    char *memory;
    size_t size;
  };

  Part parts_[kMost];
  unsigned count_ = 0;
  size_t size_ = 0;
};

namespace observer {

#if defined(POLYTILE_EMULATOR_OBSERVED)
// What an observer knows of the running block. All blocks wait for one another. A block goes on. In shadow.h and
// count.h.
POLYTILE_EMULATOR_QUIET inline void block_parts(Parts &parts);
POLYTILE_EMULATOR_QUIET inline void grid_opens();
POLYTILE_EMULATOR_QUIET inline void block_resumes();
#else
inline void block_parts(Parts &) {}
inline void grid_opens() {}
inline void block_resumes() {}
#endif

}  // namespace observer

POLYTILE_EMULATOR_QUIET inline Parts parts_of_block() {
  Parts parts;
  parts.add(&block, offsetof(Block, thread));
  parts.add(block.thread, block.threads * sizeof(Thread));
  parts.add(copy_queues, block.threads * sizeof(CopyQueue));
  parts.add(__start_polytile_fixed, static_cast<size_t>(__stop_polytile_fixed - __start_polytile_fixed));
#if defined(POLYTILE_EMULATOR_DYNAMIC_SHARED)
  parts.add(polytile_emulator_dynamic_shared_memory, block.dynamic_shared);
#endif
  observer::block_parts(parts);
  return parts;
}

// The blocks of one cooperative launch.
class Together {
 public:
  POLYTILE_EMULATOR_QUIET explicit Together(const dim3 &grid) : grid_(grid) {}
  POLYTILE_EMULATOR_QUIET ~Together() { free(saved_); }
  Together(const Together &) = delete;
  Together &operator=(const Together &) = delete;

  POLYTILE_EMULATOR_QUIET bool run() {
    for (bool first = true;; first = false) {
      size_t waiting = 0;
      for (size_t b = 0; b < blocks(); ++b) {
        blockIdx = index(b);
        if (!(first ? begin_block() : resume(b))) return false;
        if (block.exited == block.threads)
          end_block();
        else if (++waiting, !put_aside(b))
          return report_no_memory();
      }
      if (!waiting) return true;
      if (waiting != blocks()) return report_missing();
      observer::grid_opens();
    }
  }

 private:
  POLYTILE_EMULATOR_QUIET size_t blocks() const { return size_t(grid_.x) * grid_.y * grid_.z; }

  POLYTILE_EMULATOR_QUIET uint3 index(size_t b) const {
    return {static_cast<unsigned>(b % grid_.x), static_cast<unsigned>(b / grid_.x % grid_.y),
            static_cast<unsigned>(b / grid_.x / grid_.y)};
  }

  POLYTILE_EMULATOR_QUIET bool resume(size_t b) {
    parts_.load(saved_ + b * parts_.size());
    observer::block_resumes();
    return continue_block();
  }

  POLYTILE_EMULATOR_QUIET bool put_aside(size_t b) {
    if (!saved_) {
      parts_ = parts_of_block();
      saved_ = static_cast<char *>(malloc(blocks() * parts_.size()));
    }
    if (!saved_) return false;
    parts_.save(saved_ + b * parts_.size());
    last_ = b;
    block.splits = nullptr;
    memset(static_cast<void *>(copy_queues), 0, block.threads * sizeof(CopyQueue));
    return true;
  }

  POLYTILE_EMULATOR_QUIET bool report_missing() {
    blockIdx = index(last_);
    parts_.load(saved_ + last_ * parts_.size());
    report("deadlock (other blocks of the grid have ended)", waiting_function());
    return false;
  }

  const dim3 grid_;
  Parts parts_;
  char *saved_ = nullptr;
  size_t last_ = 0;  // that was put aside
};

POLYTILE_EMULATOR_QUIET inline bool run_together(const dim3 &grid) {
  Together blocks(grid);
  const bool done = blocks.run();
  fibers.trim();
  return done;
}

// The last thread of the block to come leaves for the other blocks, and releases the rest when it comes back.
POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE void wait_for_grid(const Site &site) {
  if (!block.cooperative) fail("a barrier of the grid in a launch that is not cooperative", site.function);
  const unsigned self = block.current;
  block.thread[self].state = State::grid;
  block.thread[self].site = site;
  if (++block.at_grid != block.threads) return park();
  block.at_grid = 0;
  ++block.barrier.opened;
  observer::barrier_opens();
  const uint3 index = threadIdx;
  return_to_launcher();
  threadIdx = index;
  for (unsigned t = 0; t < block.threads; ++t)
    if (t != self) release(t);
  end_wait(self);
}

}  // namespace polytile_emulator

#endif

#pragma GCC visibility pop

#endif
