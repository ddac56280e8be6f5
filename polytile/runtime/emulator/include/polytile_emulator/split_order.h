// The order that split barriers make: whatever those who arrived in a phase had done or known comes before whatever
// those do who have waited for it.
#ifndef POLYTILE_EMULATOR_SPLIT_ORDER_H
#define POLYTILE_EMULATOR_SPLIT_ORDER_H

#pragma GCC visibility push(hidden)

namespace polytile_emulator {
namespace observer {

POLYTILE_EMULATOR_QUIET inline void split_starts(SplitBarrier &split, const Site &site) {
  access(reinterpret_cast<uintptr_t>(split.address), sizeof *split.address, AccessKind::write, site.where);
  split.arriving.segment = split.ended.segment = 0;
  clocks.widen();
}

// An arrival that nothing orders behind the end of the phase before may count for that one.
POLYTILE_EMULATOR_QUIET inline void split_checks(const SplitBarrier &split, const Site &site) {
  if (!kRaces || split.ended.segment != clocks.segment()) return;
  if (split.ended.within(clocks.knowledge(block.current), block.threads, block.current)) return;
  misuse(Misuse::order, site, "arrives in phase %lld of a split barrier, but nothing orders that behind phase %lld",
         split.phase, split.phase - 1);
}

POLYTILE_EMULATOR_QUIET inline void split_arrives(SplitBarrier &split) {
  if (!kRaces) return;
  const unsigned self = block.current;
  const Knowledge &known = clocks.knowledge(self);
  split.arriving.renew(clocks.segment());
  split.arriving.join(known, block.threads);
  split.arriving.of[self] = clocks.advance(self);
}

POLYTILE_EMULATOR_QUIET inline void split_ends(SplitBarrier &split) {
  split.ended = split.arriving;
  split.arriving.segment = 0;
}

POLYTILE_EMULATOR_QUIET inline void split_passed(const SplitBarrier &split, unsigned thread) {
  if (kRaces) clocks.knowledge(thread).join(split.ended, block.threads);
}

}  // namespace observer
}  // namespace polytile_emulator

#pragma GCC visibility pop

#endif
