// A region (fusion group): the part of a graph that becomes one kernel.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/op.h"
#include "scheduler/plan.h"

namespace tcc::sched {

using ir::SymInt;

// A value's element `index` lies in its buffer at sum(index * strides).
struct Layout {
  std::vector<SymInt> strides;
  SymInt elements = 0;  // of the buffer
  static Layout row_major(const ir::Shape& shape);
  // Dims from outermost to innermost in memory.
  static Layout ordered(const ir::Shape& shape, const std::vector<int>& order);
  // Returns the layout of the same order in which the rows of the `inner` innermost dims are padded
  // to a multiple of `multiple` elements.
  Layout padded(const ir::Shape& shape, int inner, int64_t multiple) const;
  // Dims from outermost to innermost in memory; of equal strides, the earlier dim first.
  std::vector<int> order() const;
  SymInt offset(std::span<const SymInt> index) const;
  friend bool operator==(const Layout&, const Layout&) = default;
};

struct Region {
  std::vector<const ir::Node*> nodes;     // topological; cheap ones may stand in several regions
  std::vector<const ir::Value*> inputs;   // read from buffers
  std::vector<const ir::Value*> outputs;  // written to buffers
  const ir::Node* anchor =
      nullptr;  // the contraction, the first reduction, scan, sort or suppression; null: pointwise
  std::map<const ir::Value*, Layout> layouts;  // of inputs and outputs
  // Outputs that are written to the buffer of an input. What the kernel computes and how it is best
  // configured do not depend on it: it is no part of the signature.
  std::map<const ir::Value*, const ir::Value*> in_place;
  bool strict_rounding = false;  // round after every op
  // Precision of the anchor's operands, or of those of a composite op that is taken whole: f32 may
  // be read as tf32 by matrix units, and sums of f8 may be as short as matrix units have.
  bool tf32 = false;
  bool unit_sums = false;

  bool contains(const ir::Node* node) const;
  bool contains(const ir::Value* value) const {
    return value->producer && contains(value->producer);
  }
  const Layout& layout(const ir::Value* value) const { return layouts.at(value); }
  // The kernel's buffer slot: inputs first, then outputs that are not in place.
  int slot_of_input(const ir::Value* value) const;  // -1 when it is none
  int slot_of_output(const ir::Value* value) const;
  std::string name() const;  // "linear_add_gelu"
  // The layers that it computes. Views and constants stand in every region that uses them, and
  // count only where there is nothing else.
  ir::Layers layers() const;
};

// A constant that kernels hold as a number.
inline bool is_number(const ir::Value* value) {
  return value->is_constant() && !value->is_mutable && value->data->splat();
}

// The dims of the region's values that come at run time.
std::set<std::string> open_dims(const Region& region);

// 32 digits that are equal for regions that compute the same: the hash of the region's canonical
// text (scheduler/region_text.h). Also the region part of a tuning key.
std::string signature(const Region& region);

// Equal for regions of a program that share a kernel: the signature, and what is in place.
std::string kernel_key(const Region& region);

// The precision that kernels must have.
struct RegionPrecision {
  bool strict_rounding = false;  // round after every op, as an eager framework does
  // f32 products may be of tf32 operands, and f8 sums as short as matrix units have.
  bool matrix_unit = false;
};

// Gives a region the precision that its kernel must have: matrix units may take the operands of the
// contraction that anchors it, or of its composite ops.
void set_precision(Region& region, const RegionPrecision& precision);

}  // namespace tcc::sched
