// Rules on views.
#include <algorithm>
#include <string>

#include "ir/op.h"
#include "ir/ops/_attributes.h"
#include "ir/passes/graph_rewrite.h"
#include "ir/passes/simplify_rules.h"

namespace tcc::ir {
namespace {

// Ops that keep the elements' order and only group them into other dims.
bool regroups(const Node& node) {
  return is_one_of(node, {"reshape", "flatten", "unflatten", "unsqueeze", "squeeze", "identity"});
}

bool permutes(const Node& node) { return is_one_of(node, {"permute", "transpose", "movedim"}); }

// Dim d of the result is dim permutation[d] of the operand.
std::vector<int64_t> permutation_of(const Node& node) {
  // The inverse map, asked with a symbol for each dim of the operand.
  std::vector<SymInt> symbols;
  for (int d = 0; d < node.inputs[0]->rank(); ++d)
    symbols.push_back(SymInt::symbol("d" + std::to_string(d)));
  std::vector<int64_t> dims;
  for (const SymInt& at : node.op->inverse(node, symbols))
    dims.push_back(std::find(symbols.begin(), symbols.end(), at) - symbols.begin());
  return dims;
}

const Value* result(const Node& node) { return node.outputs[0]; }
const Node* operand_producer(const Node& node) {
  return node.inputs.empty() ? nullptr : node.inputs[0]->producer;
}

// Views whose result has the operand's shape only when they change nothing.
Value* view_without_effect(Builder&, const Node& node) {
  const bool by_shape = regroups(node) || is_one_of(node, {"expand", "broadcast_to", "slice",
                                                           "narrow", "repeat", "tile"});
  return by_shape && node.inputs[0]->shape() == result(node)->shape() ? node.inputs[0] : nullptr;
}

Value* regrouping_of_regrouping(Builder& b, const Node& node) {
  const Node* inner = regroups(node) ? operand_producer(node) : nullptr;
  return inner && regroups(*inner) ? b.reshape(inner->inputs[0], result(node)->shape()) : nullptr;
}

Value* simpler_permutation(Builder& b, const Node& node) {
  if (!permutes(node)) return nullptr;
  const auto dims = permutation_of(node);
  if (std::is_sorted(dims.begin(), dims.end())) return node.inputs[0];
  if (const Node* inner = operand_producer(node); inner && permutes(*inner)) {
    const auto inner_dims = permutation_of(*inner);
    std::vector<int64_t> composed;
    for (const int64_t dim : dims) composed.push_back(inner_dims[static_cast<size_t>(dim)]);
    return b.permute(inner->inputs[0], composed);
  }
  // Dims of extent 1 may lie anywhere.
  std::vector<int64_t> moving;
  for (const int64_t dim : dims)
    if (!node.inputs[0]->shape()[static_cast<size_t>(dim)].is(1)) moving.push_back(dim);
  const bool in_order = std::is_sorted(moving.begin(), moving.end());
  return in_order ? b.reshape(node.inputs[0], result(node)->shape()) : nullptr;
}

Value* expand_of_expand(Builder& b, const Node& node) {
  const auto expands = [](const Node& n) { return is_one_of(n, {"expand", "broadcast_to"}); };
  const Node* inner = expands(node) ? operand_producer(node) : nullptr;
  return inner && expands(*inner) ? b.expand(inner->inputs[0], result(node)->shape()) : nullptr;
}

// A `slice` with constant bounds reads `count` elements from `start` on, `step` apart.
struct Piece {
  size_t dim;
  int64_t start, count, step;
};
std::optional<Piece> piece_of(const Node& node) {
  if (node.op_name() != "slice") return std::nullopt;
  const Value& x = *node.inputs[0];
  const auto dim = static_cast<size_t>(ops::dim_attr(node, "dim", x.rank()));
  const SymInt start = ops::symint_attr(node, "start");
  const SymInt &extent = x.shape()[dim], &count = result(node)->shape()[dim];
  if (!start.is_const() || !extent.is_const() || !count.is_const()) return std::nullopt;
  const int64_t n = extent.value(), from = start.value() < 0 ? start.value() + n : start.value();
  return Piece{dim, std::clamp<int64_t>(from, 0, n), count.value(), node.attr<int64_t>("step")};
}

Value* read_piece(Builder& b, Value* x, const Piece& p) {
  if (p.step == 1 && p.start == 0 && x->shape()[p.dim].is(p.count)) return x;
  const int64_t last = p.count == 0 ? p.start : p.start + (p.count - 1) * p.step + 1;
  return b.slice(x, static_cast<int64_t>(p.dim), p.start, last, p.step);
}

Value* slice_of_slice(Builder& b, const Node& node) {
  const auto outer = piece_of(node);
  const Node* producer = outer ? producer_of(node.inputs[0], "slice") : nullptr;
  const auto inner = producer ? piece_of(*producer) : std::nullopt;
  if (!inner || inner->dim != outer->dim) return nullptr;
  int64_t step = 0;
  if (__builtin_mul_overflow(inner->step, outer->step, &step)) return nullptr;
  if (outer->count <= 1) step = 1;
  return read_piece(b, producer->inputs[0],
                    {outer->dim, inner->start + outer->start * inner->step, outer->count, step});
}

// A slice that lies within one operand of a cat reads that operand.
Value* slice_of_cat(Builder& b, const Node& node) {
  const auto piece = piece_of(node);
  const Node* cat = piece ? producer_of(node.inputs[0], "cat") : nullptr;
  if (!cat || piece->count == 0) return nullptr;
  if (static_cast<size_t>(ops::dim_attr(*cat, "dim", result(*cat)->rank())) != piece->dim)
    return nullptr;
  const int64_t last = piece->start + (piece->count - 1) * piece->step;
  int64_t begin = 0;
  for (Value* operand : cat->inputs) {
    if (operand->shape().size() <= piece->dim || !operand->shape()[piece->dim].is_const())
      return nullptr;
    const int64_t end = begin + operand->shape()[piece->dim].value();
    if (piece->start >= begin && last < end) {
      if (operand->dtype() != result(node)->dtype()) return nullptr;
      return read_piece(b, operand, {piece->dim, piece->start - begin, piece->count, piece->step});
    }
    begin = end;
  }
  return nullptr;
}

// Constant indices that are evenly spaced, one alone among them, name a piece.
Value* index_select_of_piece(Builder& b, const Node& node) {
  constexpr int64_t most_indices = 65536;  // more are data, and not worth reading
  if (node.op_name() != "index_select") return nullptr;
  Value *x = node.inputs[0], *index = node.inputs[1];
  while (index->producer && regroups(*index->producer)) index = index->producer->inputs[0];
  const auto dim = static_cast<size_t>(ops::dim_attr(node, "dim", x->rank()));
  const SymInt &extent = x->shape()[dim], &count = result(node)->shape()[dim];
  if (!is_fixed(index) || !extent.is_const() || !count.is_const()) return nullptr;
  if (extent.is(0) || count.is(0) || count.value() > most_indices) return nullptr;
  const TensorPtr indices = index->data->load();
  const auto place = [&](int64_t k) {  // as index_select clamps
    const int64_t i = indices->get_int(k), n = extent.value();
    return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n - 1);
  };
  const int64_t first = place(0), step = count.is(1) ? 1 : place(1) - first;
  if (step < 1) return nullptr;
  for (int64_t k = 1; k < count.value(); ++k)
    if (place(k) - place(k - 1) != step) return nullptr;
  return read_piece(b, x, {dim, first, count.value(), step});
}

Value* cat_of_one(Builder&, const Node& node) {
  const bool single = node.op_name() == "cat" && node.inputs.size() == 1;
  return single && node.inputs[0]->type == result(node)->type ? node.inputs[0] : nullptr;
}

Value* pad_of_nothing(Builder&, const Node& node) {
  if (node.op_name() != "pad") return nullptr;
  const Shape amounts = ops::symint_list(node, "pad");
  return std::all_of(amounts.begin(), amounts.end(), [](const SymInt& n) { return n.is(0); })
             ? node.inputs[0]
             : nullptr;
}

Value* flip_without_effect(Builder&, const Node& node) {
  if (node.op_name() != "flip") return nullptr;
  const Value& x = *node.inputs[0];
  const auto dims = ops::dim_list(node, "dims", x.rank());
  const bool all_single = std::all_of(
      dims.begin(), dims.end(), [&](int dim) { return x.shape()[static_cast<size_t>(dim)].is(1); });
  if (all_single) return node.inputs[0];
  const Node* inner = producer_of(node.inputs[0], "flip");
  const auto sorted = [&](const Node& flip) {
    auto list = ops::dim_list(flip, "dims", x.rank());
    std::sort(list.begin(), list.end());
    return list;
  };
  return inner && sorted(*inner) == sorted(node) ? inner->inputs[0] : nullptr;
}

}  // namespace

std::span<const SimplifyRule> movement_rules() {
  static constexpr SimplifyRule rules[] = {
      view_without_effect,   regrouping_of_regrouping,
      simpler_permutation,   expand_of_expand,
      slice_of_slice,        slice_of_cat,
      index_select_of_piece, cat_of_one,
      pad_of_nothing,        flip_without_effect,
  };
  return rules;
}

}  // namespace tcc::ir
