// The control flow of a kernel, as far as its threads have shown it: basic blocks, and which follows which.
//
// arrange() gives the blocks positions such that every block stands behind those that lead to it, but for jumps back, and
// the blocks of a loop stand together: components that are strongly connected, in topological order, and within each of
// them, without the edges to the block where it is entered, the same again. (The layout of the machine code is no such
// order: compilers move the conditions of loops.)
#ifndef POLYTILE_EMULATOR_FLOW_H
#define POLYTILE_EMULATOR_FLOW_H

#pragma GCC visibility push(hidden)

namespace polytile_emulator {

// An array that grows; elements are plain.
template <class T>
class List {
 public:
  constexpr List() = default;
  List(const List &) = delete;
  List &operator=(const List &) = delete;

  POLYTILE_EMULATOR_QUIET unsigned size() const { return size_; }
  POLYTILE_EMULATOR_QUIET T *data() const { return data_; }
  POLYTILE_EMULATOR_QUIET T &operator[](unsigned i) const { return data_[i]; }
  POLYTILE_EMULATOR_QUIET void clear() { size_ = 0; }
  POLYTILE_EMULATOR_QUIET T pop() { return data_[--size_]; }
  POLYTILE_EMULATOR_QUIET void remove(unsigned i) { data_[i] = data_[--size_]; }
  POLYTILE_EMULATOR_QUIET T &add(const T &item) {
    if (size_ == room_) {
      room_ = room_ ? 2 * room_ : 64;
      data_ = static_cast<T *>(realloc(static_cast<void *>(data_), room_ * sizeof(T)));
      if (!data_) abort();
    }
    return data_[size_++] = item;
  }
  POLYTILE_EMULATOR_QUIET void release() {
    free(data_);
    data_ = nullptr;
    size_ = room_ = 0;
  }

 private:
  T *data_ = nullptr;
  unsigned size_ = 0, room_ = 0;
};

class Flow {
 public:
  static constexpr unsigned kStart = 0;  // before a thread's first block

  POLYTILE_EMULATOR_QUIET Flow() { blocks_.add({0, kNone, 0, 0, 0, 0, 0, false}); }

  // The block at `site`, entered from another one.
  POLYTILE_EMULATOR_QUIET unsigned follow(unsigned from, unsigned site) {
    for (unsigned e = blocks_[from].edge; e != kNone; e = edges_[e].next)
      if (blocks_[edges_[e].to].site == site) return edges_[e].to;
    const unsigned to = find(site);
    edges_.add({to, blocks_[from].edge});
    blocks_[from].edge = edges_.size() - 1;
    arranged_ = false;
    return to;
  }

  POLYTILE_EMULATOR_QUIET void arrange() {
    if (arranged_) return;
    for (unsigned b = 0; b < blocks_.size(); ++b) enter_region(b, 0);
    next_ = regions_ = 0;
    arrange(kStart, 0);
    arranged_ = true;
  }

  // As of the last arrange().
  POLYTILE_EMULATOR_QUIET unsigned position(unsigned block) const { return blocks_[block].position; }

  // The last position of the loop that begins with a block; its own where no loop does.
  POLYTILE_EMULATOR_QUIET unsigned end(unsigned block) const { return blocks_[block].end; }

 private:
  static constexpr unsigned kNone = ~0u;

  struct Block {
    unsigned site, edge, position, end;
    unsigned region, index, low;  // of the search; index 0: not met
    bool open;
  };
  struct Edge {
    unsigned to, next;
  };
  struct Visit {
    unsigned block, edge;
  };

  POLYTILE_EMULATOR_QUIET unsigned find(unsigned site) {
    for (unsigned b = 1; b < blocks_.size(); ++b)
      if (blocks_[b].site == site) return b;
    blocks_.add({site, kNone, 0, 0, 0, 0, 0, false});
    return blocks_.size() - 1;
  }

  POLYTILE_EMULATOR_QUIET void enter_region(unsigned block, unsigned region) {
    blocks_[block].region = region;
    blocks_[block].index = 0;
    blocks_[block].open = false;
  }

  POLYTILE_EMULATOR_QUIET void arrange(unsigned head, unsigned region) {
    List<unsigned> members, starts;
    find_components(head, region, members, starts);
    for (unsigned c = starts.size(); c-- > 0;) {
      const unsigned stop = c + 1 < starts.size() ? starts[c + 1] : members.size();
      const unsigned first = members[stop - 1];
      if (stop - starts[c] == 1) {
        blocks_[first].position = blocks_[first].end = next_++;
        continue;
      }
      const unsigned inner = ++regions_;
      for (unsigned m = starts[c]; m < stop; ++m) enter_region(members[m], inner);
      arrange(first, inner);
      blocks_[first].end = next_ - 1;
    }
    members.release();
    starts.release();
  }

  // Tarjan's algorithm, without the edges to head: the components from the last to the first, each with the block where
  // it was entered at its end. (Tarjan, "Depth-first search and linear graph algorithms", 1972.)
  POLYTILE_EMULATOR_QUIET void find_components(unsigned head, unsigned region, List<unsigned> &members,
                                               List<unsigned> &starts) {
    List<Visit> path;
    List<unsigned> open;
    unsigned met = 0;
    meet(head, met, path, open);
    while (path.size()) {
      Visit &visit = path[path.size() - 1];
      Block &block = blocks_[visit.block];
      if (visit.edge != kNone) {
        const unsigned to = edges_[visit.edge].to;
        visit.edge = edges_[visit.edge].next;
        if (to == head || blocks_[to].region != region) continue;
        if (!blocks_[to].index)
          meet(to, met, path, open);
        else if (blocks_[to].open && blocks_[to].index < block.low)
          block.low = blocks_[to].index;
        continue;
      }
      const unsigned done = path.pop().block;
      if (path.size() && block.low < blocks_[path[path.size() - 1].block].low)
        blocks_[path[path.size() - 1].block].low = block.low;
      if (block.low != block.index) continue;
      starts.add(members.size());
      do {
        members.add(open.pop());
        blocks_[members[members.size() - 1]].open = false;
      } while (members[members.size() - 1] != done);
    }
    path.release();
    open.release();
  }

  POLYTILE_EMULATOR_QUIET void meet(unsigned b, unsigned &met, List<Visit> &path, List<unsigned> &open) {
    blocks_[b].index = blocks_[b].low = ++met;
    blocks_[b].open = true;
    path.add({b, blocks_[b].edge});
    open.add(b);
  }

  bool arranged_ = false;
  unsigned next_ = 0, regions_ = 0;
  List<Block> blocks_;
  List<Edge> edges_;
};

}  // namespace polytile_emulator

#pragma GCC visibility pop

#endif
