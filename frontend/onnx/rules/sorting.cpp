// TopK, sorted orders, prefix sums and products.
#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"

namespace tcc::onnx {
namespace {

// Returns whether a is surely at most b.
bool is_at_most(const SymInt& a, const SymInt& b) {
  const ir::AtomPtr atom = a.as_atom();
  if (atom && atom->kind == ir::Atom::Kind::min)
    return is_at_most(atom->args[0], b) || is_at_most(atom->args[1], b);
  return a == b || (b - a).range().lo >= 0;
}

// A k that is no number: an expression of dims, or computed by each run.
Results top_k_of_any(OpNode& n, const std::optional<SymInt>& known) {
  Value *x = n.in(0), *k = n.in(1);
  const int64_t dim = n.axis(n.integer("axis", -1), x->rank());
  const bool largest = n.flag("largest", true), sorted = n.flag("sorted", true);
  const SymInt extent = x->shape()[static_cast<size_t>(dim)];
  if (known && known->range().lo >= 0 && is_at_most(*known, extent)) {
    Value* places = n.b.op("iota", {}, {{"size", Shape{*known}}});
    Results results;
    for (Value* all : n.b.ops("sort", {x}, {{"dim", dim}, {"descending", largest}}))
      results.emplace_back(n.b.op("index_select", {all, places}, {{"dim", dim}}));
    return results;
  }
  n.require(ir::product(k->shape()).is(1), "k must be one number");
  return all_of(n.count("topk_counted", {x, n.b.cast(k, DType::i64)},
                        {{"dim", dim}, {"largest", largest}, {"sorted", sorted}}));
}

Results top_k(OpNode& n) {
  Value* x = n.in(0);
  if (n.opset >= 10) {
    const auto k = n.dims_if_known(1);
    const bool is_one = k && k->size() == 1;
    if (!k || (is_one && !(*k)[0].is_const()))
      return top_k_of_any(n, is_one ? std::optional((*k)[0]) : std::nullopt);
  }
  const int64_t k = n.opset < 10 ? n.integer("k") : n.int_of(1);
  return all_of(n.b.ops("topk", {x},
                        {{"k", k},
                         {"dim", n.axis(n.integer("axis", -1), x->rank())},
                         {"largest", n.flag("largest", true)},
                         {"sorted", n.flag("sorted", true)}}));
}

// The result has the type of x, where PyTorch widens integers.
template <const char* op>
Results prefix(OpNode& n) {
  Value* x = n.in(0);
  Value* result = n.b.op(op, {x},
                         {{"dim", n.axis(n.int_of(1), x->rank())},
                          {"exclusive", n.flag("exclusive", false)},
                          {"reverse", n.flag("reverse", false)}});
  return {n.b.cast(result, x->dtype())};
}

Results reverse_sequence(OpNode& n) {
  return {n.b.op("reverse_sequence", {n.in(0), n.in(1)},
                 {{"dim", n.integer("time_axis", 0)}, {"batch_dim", n.integer("batch_axis", 1)}})};
}

constexpr char kCumprod[] = "cumprod", kCumsum[] = "cumsum";

constexpr Rule kSortingRules[] = {
    {"CumProd", prefix<kCumprod>},
    {"CumSum", prefix<kCumsum>},
    {"ReverseSequence", reverse_sequence},
    {"TopK", top_k},
};

}  // namespace

std::span<const Rule> sorting_rules() { return kSortingRules; }

}  // namespace tcc::onnx
