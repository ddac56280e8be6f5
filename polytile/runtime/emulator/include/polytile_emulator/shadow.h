// The observer of a checked build: every access is looked up in what the kernel may access, and held against what is
// known of the bytes there. What is wrong becomes a Finding. An access that hits no memory ends the launch before it is
// made, as it would on a GPU; after any other finding the kernel goes on.
#ifndef POLYTILE_EMULATOR_SHADOW_H
#define POLYTILE_EMULATOR_SHADOW_H

#include "polytile_emulator/findings.h"
#include "polytile_emulator/clocks.h"
#include "polytile_emulator/race.h"
#include "polytile_emulator/areas.h"
#include "polytile_emulator/misused.h"
#include "polytile_emulator/in_flight.h"

#pragma GCC visibility push(hidden)

namespace polytile_emulator {

// What is at an address where nothing may be accessed.
POLYTILE_EMULATOR_QUIET inline Area area_of_stray(uintptr_t address) {
  if (const Guarded::Freed *freed = guarded.find(address))
    return Area::at(reinterpret_cast<const void *>(freed->base), freed->size, Memory::freed);
  if (const Area *area = areas.near(address)) return *area;
  if (address < 65536) return Area::at(nullptr, 0, Memory::null);
  if (const Fiber *fiber = fibers.owner(address)) return Area::at(fiber->stack, fiber->size, Memory::stack);
  if (areas.beyond_dynamic_shared(address)) return areas.dynamic_shared;
  return Area::at(nullptr, 0, Memory::unknown);
}

[[noreturn]] POLYTILE_EMULATOR_QUIET inline void stray(const Area &area, uintptr_t address, unsigned width,
                                                       AccessKind kind, unsigned site) {
  if (Finding *finding = findings.add(Check::address, area.memory, site, 0)) {
    fill_place(*finding, kind);
    describe(*finding, area, address, width);
  }
  sticky_error = cudaErrorIllegalAddress;
  abandon_block();
}

POLYTILE_EMULATOR_QUIET inline void report_race(const Area &area, uintptr_t address, unsigned width, AccessKind kind,
                                                unsigned site, const Conflict &conflict) {
  Finding *const finding = findings.add(Check::race, area.memory, site, conflict.site);
  if (!finding) return;
  fill_place(*finding, kind);
  describe(*finding, area, address, width);
  fill_side(finding->sides[1], conflict.kind, clocks.block_of(conflict.segment), conflict.thread);
}

POLYTILE_EMULATOR_QUIET inline void report_unwritten(const Area &area, uintptr_t address, unsigned width,
                                                     AccessKind kind, unsigned site) {
  Finding *const finding = findings.add(Check::uninitialised, area.memory, site, 0);
  if (!finding) return;
  fill_place(*finding, kind);
  describe(*finding, area, address, width);
}

// Shared memory is new in every block.
POLYTILE_EMULATOR_QUIET inline void renew(Area &area) {
  if (!kUnwritten || !area.size) return;
  area.set_written(0, area.size, false);
  memset(reinterpret_cast<void *>(area.base), kPoison, area.size);
}

namespace observer {

POLYTILE_EMULATOR_QUIET inline void launch_begins() {
  clocks.launch();
  flights.clear();
  const Body &body = block.body;
  for (unsigned p = body.parameters; p-- > 0;) {
    Area *const area = body.pointers[p] ? areas.find(reinterpret_cast<uintptr_t>(body.pointers[p])) : nullptr;
    if (!area || area->memory != Memory::global) continue;
    area->kernel = offset_of(reinterpret_cast<uintptr_t>(body.kernel) + 1);
    area->parameter = static_cast<int>(p);
  }
  const size_t fixed = static_cast<size_t>(__stop_polytile_fixed - __start_polytile_fixed);
  if (!areas.fixed_shared.size && fixed) areas.fixed_shared = Area::at(__start_polytile_fixed, fixed, Memory::shared);
#if defined(POLYTILE_EMULATOR_DYNAMIC_SHARED)
  areas.dynamic_shared.drop();
  const uintptr_t start = reinterpret_cast<uintptr_t>(polytile_emulator_dynamic_shared_memory);
  if (start)
    areas.dynamic_shared = Area::at(reinterpret_cast<const void *>(start), block.dynamic_shared, Memory::shared);
#endif
}

POLYTILE_EMULATOR_QUIET inline void launch_ends() {}

POLYTILE_EMULATOR_QUIET inline void block_begins() {
  clocks.enter_block();
  renew(areas.fixed_shared);
  renew(areas.dynamic_shared);
}

POLYTILE_EMULATOR_QUIET inline void block_ends() {}
POLYTILE_EMULATOR_QUIET inline void thread_begins() {}
POLYTILE_EMULATOR_QUIET inline void thread_ends() {}
POLYTILE_EMULATOR_QUIET inline void barrier_opens() { clocks.barrier(); }

POLYTILE_EMULATOR_QUIET inline void warp_concludes(unsigned warp, unsigned char operation, unsigned lanes) {
  if (operation == kSync) clocks.meet(warp, lanes);
}

POLYTILE_EMULATOR_QUIET inline void access(uintptr_t address, unsigned size, AccessKind kind, uintptr_t where) {
  const unsigned site = offset_of(where);
  Area *const area = areas.find(address);
  if (!area) stray(area_of_stray(address), address, size, kind, site);
  if (size > area->size - (address - area->base)) stray(*area, address, size, kind, site);
  if (area->memory == Memory::variable) return;
  if (kRaces && disturbs(*area, address, size, kind, site)) return;
  const size_t offset = address - area->base;
  if (kUnwritten) {
    if (kind != AccessKind::write && area->first_unwritten(offset, size) != size)
      report_unwritten(*area, address, size, kind, site);
    if (kind != AccessKind::read) area->set_written(offset, size, true);
  }
  if (!kRaces) return;
  Conflict worst = {};
  area->each_cell(offset, size, [&](Cell &cell) POLYTILE_EMULATOR_QUIET {
    if (area->memory == Memory::shared) forget_earlier_blocks(cell);
    const Conflict conflict = race(cell, kind, site);
    if (conflict.found) worst = conflict;
  });
  if (worst.found) report_race(*area, address, size, kind, site, worst);
}

POLYTILE_EMULATOR_QUIET inline void block_parts(Parts &parts) { areas.add_shared(parts); }
POLYTILE_EMULATOR_QUIET inline void grid_opens() { clocks.launch(); }
POLYTILE_EMULATOR_QUIET inline void block_resumes() {
  clocks.enter_block();
  if (block.splits) clocks.widen();
}

// Memory that the host may write at any time counts as written.
POLYTILE_EMULATOR_QUIET inline void allocated(const void *memory, size_t size) {
  Area area = Area::at(memory, size, Memory::global);
  const Range *range = ranges.find(memory);
  const bool written = range && range->type != cudaMemoryTypeDevice;
  area.set_written(0, size, written);
  if (kUnwritten && !written) memset(const_cast<void *>(memory), kPoison, size);
  areas.add(area);
}

POLYTILE_EMULATOR_QUIET inline void freed(const void *memory, size_t) { areas.remove(memory); }

POLYTILE_EMULATOR_QUIET inline void filled(const void *to, size_t size) {
  if (Area *area = areas.find(reinterpret_cast<uintptr_t>(to)))
    area->set_written(reinterpret_cast<uintptr_t>(to) - area->base, size, true);
}

// Bytes without a value may move within the device, but not to the host.
POLYTILE_EMULATOR_QUIET inline void copied(const void *to, const void *from, size_t size) {
  if (!kUnwritten) return;
  const uintptr_t target = reinterpret_cast<uintptr_t>(to), source = reinterpret_cast<uintptr_t>(from);
  Area *const into = areas.find(target);
  const Area *const out_of = areas.find(source);
  if (into && out_of) return into->copy_written(target - into->base, *out_of, source - out_of->base, size);
  if (into) return into->set_written(target - into->base, size, true);
  if (!out_of) return;
  const size_t first = out_of->first_unwritten(source - out_of->base, size);
  if (first == size) return;
  if (Finding *finding = findings.add(Check::uninitialised, out_of->memory, 0, out_of->kernel + static_cast<unsigned>(out_of->parameter)))
    describe(*finding, *out_of, source + first, 1);
}

}  // namespace observer
}  // namespace polytile_emulator

#pragma GCC visibility pop

#include "polytile_emulator/split_order.h"
#include "polytile_emulator/undefined.h"

#endif
