// What polytile calls in a library that was built with the emulator. Weak, as each translation unit brings them.
#ifndef POLYTILE_EMULATOR_HOOKS_H
#define POLYTILE_EMULATOR_HOOKS_H

#define POLYTILE_EMULATOR_HOOK extern "C" __attribute__((weak, used, visibility("default")))

// Changes when a hook does.
POLYTILE_EMULATOR_HOOK int polytile_emulator_version() { return 2; }

// Since the last reset: launches, blocks and threads that ran to their end, and barriers, counted once per block.
POLYTILE_EMULATOR_HOOK void polytile_emulator_counts(unsigned long long *launches, unsigned long long *blocks,
                                                     unsigned long long *threads, unsigned long long *barriers) {
  const polytile_emulator::Counts &counts = polytile_emulator::counts;
  *launches = counts.launches;
  *blocks = counts.blocks;
  *threads = counts.threads;
  *barriers = counts.barriers;
}
POLYTILE_EMULATOR_HOOK void polytile_emulator_reset_counts() {
  polytile_emulator::counts = {};
  polytile_emulator::launched.clear();
}

// Since then: the launches of one kernel, and the blocks in their grids.
POLYTILE_EMULATOR_HOOK void polytile_emulator_launches(const void *kernel, unsigned long long *launches,
                                                       unsigned long long *blocks) {
  const polytile_emulator::KernelLaunches found = polytile_emulator::launched.of(kernel);
  *launches = found.launches;
  *blocks = found.blocks;
}

// What the last kernel that failed said; empty when none has.
POLYTILE_EMULATOR_HOOK const char *polytile_emulator_message() { return polytile_emulator::message.text(); }

// Forgets errors and the message, so that kernels can be launched again after one has failed.
POLYTILE_EMULATOR_HOOK void polytile_emulator_reset_errors() {
  polytile_emulator::message.clear();
  (void)cudaDeviceReset();
}

// Bytes of device memory that are allocated.
POLYTILE_EMULATOR_HOOK void polytile_emulator_release_stacks() { polytile_emulator::fibers.release(); }

POLYTILE_EMULATOR_HOOK unsigned long long polytile_emulator_memory() { return polytile_emulator::ranges.bytes(); }

#undef POLYTILE_EMULATOR_HOOK

#endif
