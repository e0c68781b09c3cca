// The canonical text of a part of a graph: what it computes and how its operands lie in memory,
// without the names of values and whatever the order in which its nodes were made. Every key that
// stands for a region is the hash of such a text: signatures, families (scheduler/family.h) and the
// keys of plan sites (scheduler/plan.h).
//
//   region 1
//   size B 1..64
//   in0 f32[4, 6]
//   in1 f32[6]{1} of 8
//   %0 f32[4, 6] = add(in0, in1)
//   %1 f32[4, 1] = sum(%0; dim=1 keepdim=true)
//   out %1 f32[4, 1]
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "scheduler/region.h"

namespace tcc::sched {

// The version of these texts. Records hold hashes of them: a change that changes a text raises the
// version and the schema of tuning files, and writes a table from old to new keys
// (autotune/migration.h).
inline constexpr int kRegionTextVersion = 1;

enum class Sizes : uint8_t {
  kept,
  // Shapes become ranks, strides the order of dims, attributes that are sizes (AttrDef::is_size)
  // and inlined constants are left out: constants often follow from sizes (1/n of a mean) and cost
  // nothing.
  dropped,
};

struct RegionText {
  std::string text;
  // The sizes that a text without sizes lacks: of inputs, of the results of nodes that have
  // attributes which are sizes, of outputs. Equal texts have equally many, in the same places.
  std::vector<int64_t> extents;
};
RegionText region_text(const Region& region, Sizes sizes = Sizes::kept);

// The nodes in an order that follows from how they are wired: depth first from `results`, operands
// in their order. Nodes that no result needs come last, as given.
std::vector<const ir::Node*> canonical_order(std::span<const ir::Node* const> nodes,
                                             std::span<const ir::Value* const> results);

// Orders the region's inputs by their first use in the canonical order of its nodes, so that equal
// regions have equal buffers in equal slots.
void sort_inputs(Region& region);

// Writes nodes and operands without names: each value has a mark instead.
class NodeText {
 public:
  explicit NodeText(Sizes sizes) : sizes_(sizes) {}

  void set_mark(const ir::Value* value, std::string mark) { marks_[value] = std::move(mark); }
  bool has_mark(const ir::Value* value) const { return marks_.contains(value); }
  const std::string& mark(const ir::Value* value) const { return marks_.at(value); }

  // "f32[4, 6]", or "f32 of rank 2".
  std::string type(const ir::Value& value) const;
  // "dim=1 keepdim=true": attributes that have their default are left out.
  std::string attributes(const ir::Node& node) const;
  // "%0 f32[4, 1] = sum(in0; dim=1)". It marks the node's results "%0", "%1", ... in the order of
  // calls. An operand without a mark is a number that the kernel holds.
  std::string node(const ir::Node& node);

 private:
  std::string operand(const ir::Value* value) const;

  Sizes sizes_;
  std::map<const ir::Value*, std::string> marks_;
  size_t results_ = 0;
};

}  // namespace tcc::sched
