// EyeLike and other tensors made of nothing.
#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"

namespace tcc::onnx {
namespace {

Results eye_like(OpNode& n) {
  const Value* x = n.in(0);
  n.require(x->rank() == 2, "x must be a matrix");
  const DType dtype = n.dtype_attr("dtype").value_or(x->dtype());
  const int64_t k = n.integer("k", 0);
  Value* row = n.b.op("iota", {}, {{"size", x->shape()}, {"dim", 0}});
  Value* column = n.b.op("iota", {}, {{"size", x->shape()}, {"dim", 1}});
  Value* shifted = n.b.add(row, n.b.scalar(DType::i64, static_cast<double>(k)));
  return {n.b.cast(n.b.op("eq", {shifted, column}), dtype)};
}

Results trilu(OpNode& n) {
  const int64_t k = n.has_input(1) ? n.int_of(1) : 0;
  return {n.b.op(n.flag("upper", true) ? "triu" : "tril", {n.in(0)}, {{"diagonal", k}})};
}

constexpr Rule kCreationRules[] = {{"EyeLike", eye_like}, {"Trilu", trilu}};

}  // namespace

std::span<const Rule> creation_rules() { return kCreationRules; }

}  // namespace tcc::onnx
