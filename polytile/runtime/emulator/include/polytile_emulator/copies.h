// Asynchronous copies from global to shared memory (cp.async).
//
// A copy is queued when it is issued and done by the wait that covers it: data arrive as late as they may. Until then
// its target holds NaNs, for those who read too early. A checked build sees the copy as accesses of its thread
// (in_flight.h).
#ifndef POLYTILE_EMULATOR_COPIES_H
#define POLYTILE_EMULATOR_COPIES_H

#pragma GCC visibility push(hidden)

namespace polytile_emulator {

struct Copy {
  Copy *next;
  char *to;
  const char *from;
  unsigned bytes;
  unsigned thread;
  uint3 block;
  unsigned long long group;
  bool read;  // else zeros arrive
  Site site;
};

// The copies of one thread, in the order of their issue.
struct CopyQueue {
  Copy *first, *last;
  unsigned long long group;  // that the next copy joins
};

inline Reserve<Copy> copies;
inline CopyQueue copy_queues[kMaxThreads];

POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE void begin_copy(void *to, const void *from, unsigned bytes, bool read,
                                                               const Site &site);
POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE void wait_for_copies(unsigned pending);

#if !defined(POLYTILE_EMULATOR_APART)

namespace observer {

#if defined(POLYTILE_EMULATOR_OBSERVED)
// The running thread issues a copy; one of its copies arrives. In in_flight.h and count.h.
POLYTILE_EMULATOR_QUIET inline void copy_begins(const Copy &copy);
POLYTILE_EMULATOR_QUIET inline void copy_arrives(const Copy &copy);
#else
inline void copy_begins(const Copy &) {}
inline void copy_arrives(const Copy &) {}
#endif

}  // namespace observer

POLYTILE_EMULATOR_QUIET inline bool is_aligned(const void *address, unsigned bytes) {
  return reinterpret_cast<uintptr_t>(address) % bytes == 0;
}

POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE void begin_copy(void *to, const void *from, unsigned bytes, bool read,
                                                               const Site &site) {
  if (!is_aligned(to, bytes) || (read && !is_aligned(from, bytes))) {
    sticky_error = cudaErrorMisalignedAddress;
    fatal_misuse(site, "copies %u bytes asynchronously %s an address that is not aligned to them", bytes,
                 is_aligned(to, bytes) ? "from" : "to");
  }
  CopyQueue &queue = copy_queues[block.current];
  Copy *const copy = copies.take();
  *copy = {nullptr,       static_cast<char *>(to), static_cast<const char *>(from), bytes,
           block.current, blockIdx,                queue.group,                     read,
           site};
  (queue.first ? queue.last->next : queue.first) = copy;
  queue.last = copy;
  observer::copy_begins(*copy);
  memset(to, 0xff, bytes);
}

// The oldest copy of a queue arrives.
POLYTILE_EMULATOR_QUIET inline void finish_copy(CopyQueue &queue) {
  Copy *const copy = queue.first;
  observer::copy_arrives(*copy);
  if (copy->read)
    memcpy(copy->to, copy->from, copy->bytes);
  else
    memset(copy->to, 0, copy->bytes);
  queue.first = copy->next;
  copies.give(copy);
}

POLYTILE_EMULATOR_QUIET POLYTILE_EMULATOR_CORE void wait_for_copies(unsigned pending) {
  CopyQueue &queue = copy_queues[block.current];
  while (queue.first && queue.first->group + pending < queue.group) finish_copy(queue);
}

// The running thread has come to its end.
POLYTILE_EMULATOR_QUIET inline void end_copies() {
  CopyQueue &queue = copy_queues[block.current];
  if (!queue.first) return;
  misuse(Misuse::use, queue.first->site, "ends while a copy that it began is on its way");
  while (queue.first) finish_copy(queue);
}

// All copies, of all threads.
POLYTILE_EMULATOR_QUIET inline void forget_copies() {
  copies.give_all();
  memset(static_cast<void *>(copy_queues), 0, sizeof copy_queues);
}

#endif

}  // namespace polytile_emulator

template <int BYTES>
POLYTILE_EMULATOR_ACCESSOR inline void polytile_copy_async(void *to, const void *from, bool read,
                                                           POLYTILE_EMULATOR_SITE) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "an asynchronous copy of 4, 8 or 16 bytes");
  polytile_emulator::begin_copy(to, from, BYTES, read, POLYTILE_EMULATOR_CALLER);
}

POLYTILE_EMULATOR_QUIET inline void polytile_commit_copies() {
  ++polytile_emulator::copy_queues[polytile_emulator::block.current].group;
}

template <int PENDING>
POLYTILE_EMULATOR_QUIET inline void polytile_wait_copies() {
  static_assert(PENDING >= 0, "copies to come cannot be waited for");
  polytile_emulator::wait_for_copies(PENDING);
}

#pragma GCC visibility pop

#endif
