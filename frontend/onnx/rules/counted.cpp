// Operators whose results are as many as a run counts: NonZero, Compress, Unique,
// NonMaxSuppression.
#include <algorithm>
#include <array>

#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"

namespace tcc::onnx {
namespace {

// Returns whether all elements of x are one whole number that is not 0, whatever its shape is.
bool is_never_zero(OpNode& n, const Value* x) {
  constexpr std::array kSpread = {"broadcast_to", "expand", "cast", "reshape", "identity"};
  while (x->producer && std::ranges::find(kSpread, x->producer->op_name()) != kSpread.end())
    x = x->producer->inputs[0];
  const auto number = n.known_whole(x);
  if (!number || !number->is_const()) return false;
  const int64_t value = number->value();  // small: casts keep it
  return value != 0 && value > -128 && value < 128;
}

// ONNX has a row of indices for each dim.
Results non_zero(OpNode& n) {
  Value* x = n.in(0);
  // Exporters of PyTorch make indices of a shape so.
  if (x->rank() > 0 && !n.tensor_if_known(0) && is_never_zero(n, x)) {
    std::vector<Value*> rows;
    const Shape all = {ir::product(x->shape())};
    for (int64_t d = 0; d < x->rank(); ++d)
      rows.push_back(n.b.reshape(n.b.op("iota", {}, {{"size", x->shape()}, {"dim", d}}), all));
    return {n.b.op("stack", rows, {{"dim", 0}})};
  }
  return {n.b.transpose(n.count("nonzero", {x})[0], 0, 1)};
}

ir::Attrs optional_axis(OpNode& n, int rank) {
  if (!n.has("axis")) return {};
  return {{"dim", ir::ints({n.axis(n.integer("axis"), rank)})}};
}

Results compress(OpNode& n) {
  Value *x = n.in(0), *condition = n.in(1);
  n.require(condition->rank() == 1, "the condition must have one dim");
  const ir::Attrs axis = optional_axis(n, x->rank());
  Value* from = axis.empty() ? n.b.reshape(x, {ir::product(x->shape())}) : x;
  const int64_t dim = axis.empty() ? 0 : n.axis(n.integer("axis"), x->rank());
  if (from->shape()[static_cast<size_t>(dim)].is(0) || condition->dtype() != DType::boolean)
    return all_of(n.count("compress", {x, condition}, axis));
  const SymInt extent = from->shape()[static_cast<size_t>(dim)];
  n.require((extent - condition->shape()[0]).range().hi >= 0,
            str("the condition has ", condition->shape()[0], " elements for ", extent));
  // Where the condition is true is counted once for all that is compressed by it.
  Value* places = n.count("nonzero", {condition})[0];
  return {
      n.b.op("index_select", {from, n.b.reshape(places, {places->shape()[0]})}, {{"dim", dim}})};
}

Results unique(OpNode& n) {
  Value* x = n.in(0);
  ir::Attrs attrs = optional_axis(n, x->rank());
  attrs["sorted"] = n.flag("sorted", true);
  return all_of(n.count("unique", {x}, attrs));
}

Results non_max_suppression(OpNode& n) {
  std::vector<Value*> inputs = {n.in(0), n.in(1)};
  for (size_t k = 2; k < 5; ++k) inputs.push_back(n.maybe(k));
  const int64_t center = n.integer("center_point_box", 0);
  n.require(center == 0 || center == 1, "center_point_box must be 0 or 1");
  return all_of(n.count("non_max_suppression", inputs, {{"center_point_box", center}}));
}

constexpr Rule kCountedRules[] = {
    {"Compress", compress},
    {"NonMaxSuppression", non_max_suppression},
    {"NonZero", non_zero},
    {"Unique", unique},
};

}  // namespace

std::span<const Rule> counted_rules() { return kCountedRules; }

}  // namespace tcc::onnx
