// The suppress template's kernel, and the region's facts that it is made of.
#pragma once

#include "scheduler/kernel_sequence.h"

namespace tcc::sched {

struct SuppressPlan {
  const ir::Node* node = nullptr;
  const ir::Value* keep = nullptr;
  ir::Shape group_shape;         // of the boxes, without the last two dims
  SymInt groups = 1, boxes = 0;  // boxes: of a group
  DType dtype{};                 // that areas are computed in
  bool center = false;

  bool is_empty() const { return groups.is(0) || boxes.is(0); }
};

// The values of a config, and the sizes that follow from them.
struct SuppressShape {
  int64_t threads, items;  // items: boxes of a tile that a thread has
  // Kept boxes of a tile that boxes behind it are tested against at once. Empty boxes fill up the
  // last ones.
  int64_t at_once = 8;

  // Boxes of the group that are in shared memory at once.
  int64_t tile() const { return threads * items; }
  // Boxes of the tile that are skipped together where none is there.
  int64_t run() const;
  int64_t shared_bytes(DType dtype) const {
    return (tile() + at_once) * (4 * size_bytes(dtype) + 4);
  }
  // Loop iterations of a thread, at most.
  int64_t iterations(int64_t boxes) const;
};

KernelSequence lower_suppress(const Region& region, const SuppressPlan& plan,
                              const SuppressShape& shape);

}  // namespace tcc::sched
