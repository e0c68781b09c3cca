// TopK, sorted orders, prefix sums and products.
#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"

namespace tcc::onnx {
namespace {

Results top_k(OpNode& n) {
  Value* x = n.in(0);
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
