// Inlining: the elements of a region's values as one expression over the region's inputs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "scheduler/region.h"

namespace tcc::sched {

using ir::Expr;

class Inliner {
 public:
  explicit Inliner(const Region& region) : region_(region) {}

  // The element of `value` at `index`, in compute_dtype of its dtype. Producers in the region are
  // inlined (reductions and contractions that are not bound become serial loops), inputs become
  // loads.
  Expr value_at(const ir::Value* value, std::span<const SymInt> index);

  // From now on the elements of `value` are what `element` says: a reduced row, an accumulator.
  // Null: there is no such element here (another row's result).
  using Element = std::function<Expr(std::span<const SymInt> index)>;
  void bind(const ir::Value* value, Element element);

  // The first value that was asked for an element that its binding does not have, or null. Whoever
  // binds values asks this after inlining; expressions that were made are of no use then.
  const ir::Value* asked_elsewhere() const { return asked_elsewhere_; }

  // An axis that a reduction within an expression goes along.
  SymInt new_axis(const SymInt& extent);

 private:
  friend class NodeContext;
  Expr inline_node(const ir::Node* node, std::span<const SymInt> index);
  Expr inline_reduction(const ir::Node* node, std::span<const SymInt> index);
  Expr inline_contraction(const ir::Node* node, std::span<const SymInt> index);

  const Region& region_;
  std::map<const ir::Value*, Element> bound_;
  struct Place {
    const ir::Value* value;
    std::vector<SymInt> index;
    bool operator==(const Place&) const = default;
  };
  struct PlaceHash {
    size_t operator()(const Place& place) const;
  };
  std::unordered_map<Place, Expr, PlaceHash> memo_;
  const ir::Value* asked_elsewhere_ = nullptr;
};

// A reduction node's dims: those it reduces and those it keeps, ascending, and its extents.
struct ReductionDims {
  std::vector<int> reduced, kept;
  std::vector<int64_t> reduced_extents, kept_extents;
  int64_t rows() const;
  int64_t cols() const;
};
ReductionDims reduction_dims(const ir::Node* node);

// The input index of a reduction, from the index of its kept and its reduced dims.
std::vector<SymInt> join_index(const ReductionDims& dims, std::span<const SymInt> kept,
                               std::span<const SymInt> reduced);
// The index of the kept dims, from the index of the result (keepdim or not).
std::vector<SymInt> kept_index(const ir::Node* node, const ReductionDims& dims,
                               std::span<const SymInt> index);

// Follows bijective views inside the region upwards from `output`: the value under them and where
// its element goes.
struct StoredThrough {
  const ir::Value* base;
  std::vector<const ir::Node*> views;  // from base to output
  std::vector<SymInt> output_index(std::span<const SymInt> base_index) const;
};
StoredThrough peel_views(const Region& region, const ir::Value* output,
                         const ir::Value* stop = nullptr);

}  // namespace tcc::sched
