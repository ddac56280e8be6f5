// What the checks found: kept until polytile asks. One finding for each pair of sites and rule, the first few of them.
#ifndef POLYTILE_EMULATOR_FINDINGS_H
#define POLYTILE_EMULATOR_FINDINGS_H

#pragma GCC visibility push(hidden)

namespace polytile_emulator {

// Read by findings.py in this order: a change is a new version in hooks.h.
enum class Check : int { address, undefined, race, uninitialised };
enum class Memory : int { global, shared, variable, stack, freed, null, unknown, none };

// One of the accesses of a finding: who, where in the library, and how.
struct Side {
  unsigned site;
  int kind;  // an AccessKind, or -1: there is no such side
  unsigned block[3];
  unsigned thread[3];
};

struct Finding {
  int check;
  int memory;
  unsigned kernel;          // where its function begins in the library; 0 outside kernels
  int parameter;            // of the kernel, that points to the memory; -1: none
  long long offset;         // of the first byte, from where the memory begins; negative before it
  unsigned long long size;  // of the memory
  unsigned variable;        // where the memory begins in the library, when it is part of it
  unsigned width;           // bytes accessed
  Side sides[2];
  unsigned long long count;
  int line;
  char file[256];
  char text[256];
};

class Findings {
 public:
  static constexpr unsigned kMost = 20;

  // A new finding to be filled in, or null when it is known already or there are too many.
  POLYTILE_EMULATOR_QUIET Finding *add(Check check, Memory memory, unsigned site, unsigned other) {
    for (unsigned i = 0; i < kept_; ++i) {
      Finding &known = kept[i];
      if (known.check != static_cast<int>(check) || known.sides[0].site != site || known.sides[1].site != other)
        continue;
      ++known.count;
      return nullptr;
    }
    if (kept_ == kMost) return ++left_out_, nullptr;
    Finding &made = kept[kept_++];
    made = {};
    made.check = static_cast<int>(check);
    made.memory = static_cast<int>(memory);
    made.parameter = -1;
    made.sides[0].site = site;
    made.sides[1].site = other;
    made.sides[0].kind = made.sides[1].kind = -1;
    made.count = 1;
    return &made;
  }

  POLYTILE_EMULATOR_QUIET void clear() { kept_ = 0, left_out_ = 0; }
  POLYTILE_EMULATOR_QUIET unsigned size() const { return kept_; }
  POLYTILE_EMULATOR_QUIET unsigned long long left_out() const { return left_out_; }

  Finding kept[kMost];

 private:
  unsigned kept_ = 0;
  unsigned long long left_out_ = 0;
};

inline Findings findings;

POLYTILE_EMULATOR_QUIET inline void fill_coordinates(unsigned (&to)[3], unsigned long long index, const dim3 &extent) {
  to[0] = static_cast<unsigned>(index % extent.x);
  to[1] = static_cast<unsigned>(index / extent.x % extent.y);
  to[2] = static_cast<unsigned>(index / extent.x / extent.y);
}

POLYTILE_EMULATOR_QUIET inline unsigned long long running_block() {
  return blockIdx.x + 1ull * gridDim.x * (blockIdx.y + 1ull * gridDim.y * blockIdx.z);
}

POLYTILE_EMULATOR_QUIET inline void fill_side(Side &side, AccessKind kind, unsigned long long in_grid, unsigned thread) {
  side.kind = static_cast<int>(kind);
  fill_coordinates(side.block, in_grid, gridDim);
  fill_coordinates(side.thread, thread, blockDim);
}

// The kernel that runs, and the running thread.
POLYTILE_EMULATOR_QUIET inline void fill_place(Finding &finding, AccessKind kind) {
  if (!observing) return;
  finding.kernel = offset_of(reinterpret_cast<uintptr_t>(block.body.kernel) + 1);
  fill_side(finding.sides[0], kind, running_block(), block.current);
}

}  // namespace polytile_emulator

#pragma GCC visibility pop

#define POLYTILE_EMULATOR_HOOK extern "C" __attribute__((weak, used, visibility("default"))) POLYTILE_EMULATOR_QUIET

// How many findings are kept, and how many more occurred that are not.
POLYTILE_EMULATOR_HOOK unsigned polytile_emulator_findings(unsigned long long *left_out) {
  *left_out = polytile_emulator::findings.left_out();
  return polytile_emulator::findings.size();
}
POLYTILE_EMULATOR_HOOK const void *polytile_emulator_finding(unsigned index) {
  return &polytile_emulator::findings.kept[index];
}
POLYTILE_EMULATOR_HOOK void polytile_emulator_reset_findings() { polytile_emulator::findings.clear(); }

#undef POLYTILE_EMULATOR_HOOK

#endif
