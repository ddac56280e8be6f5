// The groups of CUDA's header of this name that are the whole grid and the whole block.
#ifndef POLYTILE_EMULATOR_COOPERATIVE_GROUPS_H
#define POLYTILE_EMULATOR_COOPERATIVE_GROUPS_H

#include <cuda_runtime.h>

namespace cooperative_groups {

class grid_group {
 public:
  POLYTILE_EMULATOR_QUIET bool is_valid() const { return polytile_emulator::block.cooperative; }
  POLYTILE_EMULATOR_QUIET void sync(POLYTILE_EMULATOR_SITE) const {
    polytile_emulator::wait_for_grid(POLYTILE_EMULATOR_HERE);
  }
  POLYTILE_EMULATOR_QUIET unsigned long long num_blocks() const { return 1ull * gridDim.x * gridDim.y * gridDim.z; }
  POLYTILE_EMULATOR_QUIET unsigned long long num_threads() const {
    return num_blocks() * polytile_emulator::block.threads;
  }
  POLYTILE_EMULATOR_QUIET unsigned long long size() const { return num_threads(); }
  POLYTILE_EMULATOR_QUIET unsigned long long block_rank() const {
    return blockIdx.x + 1ull * gridDim.x * (blockIdx.y + 1ull * gridDim.y * blockIdx.z);
  }
  POLYTILE_EMULATOR_QUIET unsigned long long thread_rank() const {
    return block_rank() * polytile_emulator::block.threads + polytile_emulator::block.current;
  }
};

class thread_block {
 public:
  POLYTILE_EMULATOR_QUIET static void sync(POLYTILE_EMULATOR_SITE) {
    polytile_emulator::wait_at_barrier(false, POLYTILE_EMULATOR_HERE);
  }
  POLYTILE_EMULATOR_QUIET static unsigned num_threads() { return polytile_emulator::block.threads; }
  POLYTILE_EMULATOR_QUIET static unsigned size() { return num_threads(); }
  POLYTILE_EMULATOR_QUIET static unsigned thread_rank() { return polytile_emulator::block.current; }
};

inline grid_group this_grid() { return {}; }
inline thread_block this_thread_block() { return {}; }

}  // namespace cooperative_groups

#endif
