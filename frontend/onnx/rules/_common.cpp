#include "frontend/onnx/rules/_common.h"

#include <numeric>

#include "frontend/tensor_file.h"
#include "support/error.h"

namespace tcc::onnx {

Value* broadcast_operand(OpNode& n, Value* a, Value* b) {
  if (n.opset >= 7) return b;
  n.ignore("consumed_inputs");
  if (!n.flag("broadcast", false)) {
    n.ignore("axis");
    return b;
  }
  const int64_t axis = n.axis(n.integer("axis", a->rank() - b->rank()), a->rank() + 1);
  n.require(axis + b->rank() <= a->rank(), "the second operand does not fit the first");
  Shape shape = b->shape();
  shape.resize(static_cast<size_t>(a->rank() - axis), 1);
  return n.b.reshape(b, shape);
}

Value* along_dim(OpNode& n, Value* vector, const Value* x, int64_t dim) {
  Shape shape(static_cast<size_t>(x->rank()), 1);
  shape[static_cast<size_t>(n.axis(dim, x->rank()))] = vector->shape()[0];
  return n.b.reshape(vector, shape);
}

std::vector<int64_t> iota(int64_t from, int64_t to) {
  std::vector<int64_t> values(static_cast<size_t>(std::max<int64_t>(0, to - from)));
  std::iota(values.begin(), values.end(), from);
  return values;
}

Value* fused_activation(OpNode& n, Value* x, const std::string& name,
                        const std::vector<double>& parameters) {
  const auto parameter = [&](size_t k, double otherwise) {
    return k < parameters.size() ? parameters[k] : otherwise;
  };
  const auto clamped = [&](Value* y, double low, double high) {
    return n.b.op("clamp", {y}, {{"min", low}, {"max", high}});
  };
  if (name.empty()) return x;
  if (name == "Relu") return n.b.unary("relu", x);
  if (name == "Tanh") return n.b.unary("tanh", x);
  if (name == "Sigmoid") return n.b.unary("sigmoid", x);
  if (name == "HardSwish") return n.b.unary("hardswish", x);
  if (name == "Elu") return n.b.op("elu", {x}, {{"alpha", parameter(0, 1)}});
  if (name == "LeakyRelu")
    return n.b.op("leaky_relu", {x}, {{"negative_slope", parameter(0, 0.01)}});
  if (name == "HardSigmoid") {
    Value* line = n.b.mul(x, like(n, x, parameter(0, 0.2)));
    return clamped(n.b.add(line, like(n, x, parameter(1, 0.5))), 0, 1);
  }
  if (name == "Clip") {
    n.require(parameters.size() == 2, "Clip takes two activation parameters");
    return clamped(x, parameters[0], parameters[1]);
  }
  n.fail(str("activation ", quoted_name(name), " is not supported"));
}

Value* softmax_along(OpNode& n, Value* x, int64_t axis, bool one_dim, std::string_view op) {
  if (one_dim || axis == x->rank() - 1) return n.b.op(op, {x}, {{"dim", axis}});
  const auto from = x->shape().begin() + axis;
  Shape flat(x->shape().begin(), from);
  flat.push_back(ir::product({from, x->shape().end()}));
  Value* result = n.b.op(op, {n.b.reshape(x, flat)}, {{"dim", axis}});
  return n.b.reshape(result, x->shape());
}

std::optional<std::vector<int64_t>> axes_attr_or_input(OpNode& n, int since, size_t k) {
  if (n.opset >= since) return n.has_input(k) ? std::optional(n.ints(k)) : std::nullopt;
  return n.has("axes") ? std::optional(n.ints_attr("axes")) : std::nullopt;
}

}  // namespace tcc::onnx
