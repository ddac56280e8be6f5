// Objects that are made once and used again and again.
#ifndef POLYTILE_EMULATOR_RESERVE_H
#define POLYTILE_EMULATOR_RESERVE_H

#pragma GCC visibility push(hidden)

namespace polytile_emulator {

// T is plain, and has a member `T *next`.
template <class T>
class Reserve {
 public:
  // An object with any content; the process ends when there is no memory.
  POLYTILE_EMULATOR_QUIET T *take() {
    if (!free_) make();
    T *const item = free_;
    free_ = item->next;
    return item;
  }

  POLYTILE_EMULATOR_QUIET void give(T *item) {
    item->next = free_;
    free_ = item;
  }

  // All objects are free again.
  POLYTILE_EMULATOR_QUIET void give_all() {
    free_ = nullptr;
    for (Chunk *chunk = chunks_; chunk; chunk = chunk->next)
      for (T &item : chunk->items) give(&item);
  }

 private:
  struct Chunk {
    Chunk *next;
    T items[16];
  };

  POLYTILE_EMULATOR_QUIET void make() {
    Chunk *const chunk = static_cast<Chunk *>(malloc(sizeof(Chunk)));
    if (!chunk) abort();
    chunk->next = chunks_;
    chunks_ = chunk;
    for (T &item : chunk->items) give(&item);
  }

  T *free_ = nullptr;
  Chunk *chunks_ = nullptr;
};

}  // namespace polytile_emulator

#pragma GCC visibility pop

#endif
