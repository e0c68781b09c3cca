// Inlining makes the elements of a region's values one expression over the region's inputs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "scheduler/region.h"

namespace tcc::sched {

using ir::Expr;

inline Expr zero_of(DType dtype) {
  return is_float(dtype) ? ir::constant(dtype, 0) : ir::constant_int(dtype, 0);
}

class Inliner {
 public:
  // An element that a binding lacks is noted for asked_elsewhere(), by those who find out whether a
  // region can be computed, or is an InternalError, for those who compute it.
  enum class Lacking { is_an_error, is_noted };
  explicit Inliner(const Region& region, Lacking lacking = Lacking::is_an_error)
      : region_(region), lacking_(lacking) {}

  // Returns the element of `value` at `index`, in compute_dtype of its dtype. Producers in the
  // region are inlined (reductions and contractions that are not bound become serial loops), inputs
  // become loads.
  Expr value_at(const ir::Value* value, std::span<const SymInt> index);

  // Binds `value`: from now on `element` gives its elements (of a reduced row or an accumulator).
  // It returns null where the element is not available (another row's result).
  using Element = std::function<Expr(std::span<const SymInt> index)>;
  void bind(const ir::Value* value, Element element);

  // Returns the first value whose binding lacked an element that was asked for, or null. Where it
  // is not null, the expressions are not valid.
  const ir::Value* asked_elsewhere() const { return asked_elsewhere_; }

  // Makes an axis for a reduction within an expression.
  SymInt new_axis(const SymInt& extent);

 private:
  friend class NodeContext;
  Expr inline_node(const ir::Node* node, std::span<const SymInt> index);
  Expr inline_reduction(const ir::Node* node, std::span<const SymInt> index);
  Expr inline_contraction(const ir::Node* node, std::span<const SymInt> index);

  const Region& region_;
  Lacking lacking_;
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

// An index from a loaded integer, as ir::ElementContext::indirect has it.
SymInt indirect_index(const Expr& value, const SymInt& extent);

// A contraction's own batch, m and n axes, from the index of an element of its result.
struct ContractionIndex {
  std::vector<SymInt> batch, m, n;
};
ContractionIndex contraction_index(const ir::Node* node, const ir::Contraction& contraction,
                                   std::span<const SymInt> index);

// A reduction node's dims: those it reduces and those it keeps, ascending, and its extents.
struct ReductionDims {
  std::vector<int> reduced, kept;  // rows are numbered in the order of `kept`
  ir::Shape reduced_extents, kept_extents;
  SymInt rows() const { return ir::product(kept_extents); }
  SymInt cols() const { return ir::product(reduced_extents); }
  // The last dim is reduced: neighbours of a row are neighbours.
  bool reduces_innermost() const {
    return !reduced.empty() && (kept.empty() || reduced.back() > kept.back());
  }
};
ReductionDims reduction_dims(const ir::Node* node);

// Returns the input index of a reduction, from the index of its kept and its reduced dims.
std::vector<SymInt> join_index(const ReductionDims& dims, std::span<const SymInt> kept,
                               std::span<const SymInt> reduced);
// Returns the index of the kept dims, from the index of the result (keepdim or not).
std::vector<SymInt> kept_index(const ir::Node* node, const ReductionDims& dims,
                               std::span<const SymInt> index);

// Follows bijective views inside the region upwards from `output`. Returns the value under them,
// and the place of its elements in the output.
struct StoredThrough {
  const ir::Value* base;
  std::vector<const ir::Node*> views;  // from base to output
  std::vector<SymInt> output_index(std::span<const SymInt> base_index) const;
};
StoredThrough peel_views(const Region& region, const ir::Value* output,
                         const ir::Value* stop = nullptr);

}  // namespace tcc::sched
