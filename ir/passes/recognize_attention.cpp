#include "ir/passes/recognize_attention.h"

#include <algorithm>
#include <cmath>

#include "ir/op.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_softmax_parts.h"
#include "ir/passes/attention_mask.h"
#include "ir/passes/attention_scores.h"
#include "ir/passes/decompose.h"
#include "ir/passes/graph_rewrite.h"
#include "ir/passes/simplify.h"
#include "ir/passes/simplify_rules.h"

namespace tcc::ir {
namespace {

constexpr int kMaxViews = 16;  // between an operand and its scale

Shape batch_of(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }

Shape with_batch(Shape batch, const Shape& matrix) {
  batch.insert(batch.end(), matrix.end() - 2, matrix.end());
  return batch;
}

Value* in_batch(Builder& b, Value* x, const Shape& batch) {
  return batch_of(x->shape()) == batch ? x : b.reshape(x, with_batch(batch, x->shape()));
}

// ---- the scale of an operand

struct Scaled {
  Value* value;
  double scale = 1;
};

// The operand without the constant that it is multiplied by, in front of views or behind them.
Scaled without_scale(Builder& b, Value* x, KnownValues& known, int depth = 0) {
  const Node* node = x->producer;
  if (!node || depth > kMaxViews) return {x};
  if (keeps_order(*node) || is_one_of(*node, {"permute", "transpose", "movedim"})) {
    const Scaled inner = without_scale(b, node->inputs[0], known, depth + 1);
    if (inner.value == node->inputs[0]) return {x};
    return {b.op(node->op_name(), {inner.value}, node->attrs), inner.scale};
  }
  const bool divides = node->op_name() == "div";
  if (!divides && node->op_name() != "mul") return {x};
  if (divides && node->attr<std::string>("rounding_mode") != "none") return {x};
  for (const size_t k : {size_t{0}, size_t{1}}) {
    if (divides && k == 1) break;
    if (node->inputs[k]->type != x->type) continue;
    const auto factor = uniform_value(node->inputs[1 - k], known);
    if (factor && *factor != 0 && std::isfinite(*factor))
      return {node->inputs[k], divides ? 1 / *factor : *factor};
  }
  return {x};
}

// ---- heads

// Returns the value that `x` transposes in its last two dims, perhaps with other batch dims; null
// where `x` is no transposition.
Value* untransposed(Builder& b, Value* x) {
  const Node* node = x->producer;
  if (!node) return nullptr;
  if (keeps_matrices(*node)) {
    Value* inner = untransposed(b, node->inputs[0]);
    if (!inner) return nullptr;
    return b.reshape(inner, with_batch(batch_of(x->shape()), inner->shape()));
  }
  if (!is_one_of(*node, {"permute", "transpose", "movedim"})) return nullptr;
  std::vector<SymInt> index;
  for (int d = 0; d < x->rank(); ++d) index.push_back(SymInt::symbol("d" + std::to_string(d)));
  std::vector<SymInt> swapped = index;
  std::swap(swapped[swapped.size() - 1], swapped[swapped.size() - 2]);
  return node->op->inverse(*node, index) == swapped ? node->inputs[0] : nullptr;
}

Value* transposed(Builder& b, Value* x) {
  Value* inner = untransposed(b, x);
  return inner ? inner : b.transpose(x, -2, -1);
}

// The heads [..., heads / n, length, depth] that `x` repeats n times each; null where it does not.
Value* shared_heads(Builder& b, Value* x) {
  const Node* node = x->producer;
  if (!node || x->rank() < 3) return nullptr;
  const auto heads = static_cast<size_t>(x->rank() - 3);
  if (node->op_name() == "repeat_interleave") {
    const auto dims = ops::dim_list(*node, "dim", x->rank());
    return dims.size() == 1 && dims[0] == x->rank() - 3 ? node->inputs[0] : nullptr;
  }
  const Node* expand = node;
  while (expand && keeps_order(*expand)) expand = expand->inputs[0]->producer;
  if (!expand || expand->op_name() != "expand") return nullptr;
  Shape from = expand->inputs[0]->shape(), to = expand->outputs[0]->shape();
  if (to.size() != x->shape().size() + 1 || from.size() != to.size()) return nullptr;
  // from is [..., heads / n, 1, length, depth], to has n for the 1, and x joins the two dims.
  if (!from[heads + 1].is(1)) return nullptr;
  Shape joined = to;
  joined[heads] = to[heads] * to[heads + 1];
  joined.erase(joined.begin() + static_cast<std::ptrdiff_t>(heads) + 1);
  if (joined != x->shape()) return nullptr;
  from.erase(from.begin() + static_cast<std::ptrdiff_t>(heads) + 1);
  to.erase(to.begin() + static_cast<std::ptrdiff_t>(heads) + 1);
  return from == to ? b.reshape(expand->inputs[0], from) : nullptr;
}

struct Heads {
  Value* key;
  Value* value;
  bool grouped = false;
};

Heads grouped_heads(Builder& b, const Value* query, Value* key, Value* value) {
  const Heads plain = {key, value};
  if (query->rank() != key->rank() || query->rank() < 3) return plain;
  if (batch_of(query->shape()) != batch_of(key->shape()) ||
      batch_of(key->shape()) != batch_of(value->shape()))
    return plain;
  Value* few_keys = shared_heads(b, key);
  Value* few_values = few_keys ? shared_heads(b, value) : nullptr;
  if (!few_values || batch_of(few_keys->shape()) != batch_of(few_values->shape())) return plain;
  const SymInt heads = batch_of(query->shape()).back(), shared = batch_of(few_keys->shape()).back();
  if (!shared.is_const() || shared.value() < 1 || !heads.divisible_by(shared.value())) return plain;
  return {few_keys, few_values, true};
}

// ---- the pattern

bool has_matrices(const Node& matmul) {
  return matmul.inputs[0]->rank() >= 2 && matmul.inputs[1]->rank() >= 2 &&
         is_float(matmul.inputs[0]->dtype()) && !is_f8(matmul.inputs[0]->dtype());
}

// Returns whether both operands have the result's batch dims: only then may these be regrouped.
bool spans_batch(const Node& matmul) {
  const Shape batch = batch_of(matmul.outputs[0]->shape());
  return batch_of(matmul.inputs[0]->shape()) == batch &&
         batch_of(matmul.inputs[1]->shape()) == batch;
}

bool is_usable(const AttentionScores& scores, const Node& output) {
  const Node& product = *scores.product;
  const DType dtype = output.outputs[0]->dtype();
  if (!has_matrices(product) || product.outputs[0]->dtype() != dtype) return false;
  if (scores.widest > size_bytes(compute_dtype(dtype))) return false;
  if (!std::isfinite(scores.scale) || scores.scale == 0) return false;
  const Shape batch = batch_of(scores.shape);
  return (batch_of(product.outputs[0]->shape()) == batch || spans_batch(product)) &&
         (batch_of(output.inputs[0]->shape()) == batch || spans_batch(output));
}

// The values times the share of the weights that the sink leaves them: 1 / (1 + exp(sink - lse)).
// Where all of a row's scores are -inf, the sink has all.
Value* beside_sink(Builder& b, Value* values, Value* lse, Value* sink) {
  const DType dtype = lse->dtype();
  Value* share = b.unary("sigmoid", b.sub(lse, b.cast(b.reshape(sink, lse->shape()), dtype)));
  return b.cast(b.mul(b.cast(values, dtype), share), values->dtype());
}

// Takes the sink out of any other scores, as expressions that recognition in the decomposed graph
// may read. Null where there is none.
Value* without_sink(Builder& b, const Node& output, const UseMap& uses, KnownValues& known) {
  const auto found = match_sink(output.inputs[0], uses, known);
  if (!found || output.outputs[0]->rank() != found->scores->rank()) return nullptr;
  const ops::SoftmaxParts parts = ops::softmax_parts(b, b.compute(found->scores));
  const DType dtype = output.inputs[0]->dtype();
  Value* values = b.matmul(ops::without_nan(b, b.cast(parts.weights, dtype)), output.inputs[1]);
  return beside_sink(b, values, parts.lse, found->sink);
}

Value* attention(Builder& b, const AttentionScores& scores, const Node& output,
                 KnownValues& known) {
  const Node& product = *scores.product;
  const DType dtype = product.outputs[0]->dtype();
  Scaled query = without_scale(b, product.inputs[0], known);
  Scaled key = without_scale(b, product.inputs[1], known);
  if (dtype == DType::f16) {
    // The product of operands that are not scaled might overflow. One that is scaled is enough.
    const double scale = query.scale * key.scale;
    query = key.scale == 1 ? Scaled{product.inputs[0]}
                           : Scaled{b.mul(query.value, b.scalar(dtype, scale))};
    key.scale = 1;
  }
  const double scale = scores.scale * query.scale * key.scale;
  if (!std::isfinite(scale) || scale == 0) return nullptr;
  Value* value = output.inputs[1];
  key.value = transposed(b, key.value);
  const Shape batch = batch_of(scores.shape);
  if (batch_of(product.outputs[0]->shape()) != batch) {
    query.value = in_batch(b, query.value, batch);
    key.value = in_batch(b, key.value, batch);
  }
  if (batch_of(output.inputs[0]->shape()) != batch) value = in_batch(b, value, batch);
  const Heads heads = grouped_heads(b, query.value, key.value, value);
  const AttentionMask mask = attention_mask(b, scores, compute_dtype(dtype), known);
  const std::vector<Value*> results =
      b.ops("scaled_dot_product_attention", {query.value, heads.key, heads.value, mask.operand},
            {{"is_causal", mask.is_causal},
             {"scale", scale},
             {"enable_gqa", heads.grouped},
             {"safe_softmax", scores.safe || scores.sink}});
  Value* result = results[0];
  if (scores.sink)
    result = beside_sink(b, result, b.reshape(results[1], with_batch(batch, scores.sink->shape())),
                         scores.sink);
  const Shape& shape = output.outputs[0]->shape();
  return result->shape() == shape ? result : b.reshape(result, shape);
}

bool has_softmax(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(),
                             [](const auto& node) { return node->op_name() == "softmax"; });
}

}  // namespace

void recognize_attention(Graph& graph) {
  if (!has_softmax(graph)) return;
  decompose(graph, [](const Node& n) { return !is_one_of(n, {"bmm", "einsum", "dropout"}); });
  simplify(graph);
  const UseMap uses = graph.uses();
  KnownValues known;
  const bool found = rewrite_nodes(graph, [&](Builder& b, const Node& node) -> Replacement {
    if (node.op_name() != "matmul" || !has_matrices(node)) return {};
    const auto scores = match_scores(node.inputs[0], uses, known);
    Value* result = scores && is_usable(*scores, node) ? attention(b, *scores, node, known)
                                                       : without_sink(b, node, uses, known);
    return result ? Replacement{result} : Replacement{};
  });
  if (found) simplify(graph);
}

}  // namespace tcc::ir
