// Activations, softmax and similar operators.
#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"

namespace tcc::onnx {
namespace {

Results leaky_relu(OpNode& n) {
  n.ignore("consumed_inputs");
  return {n.b.op("leaky_relu", {n.in(0)}, {{"negative_slope", n.number("alpha", 0.01)}})};
}

Results elu(OpNode& n) {
  n.ignore("consumed_inputs");
  return {n.b.op("elu", {n.in(0)}, {{"alpha", n.number("alpha", 1)}})};
}

Results celu(OpNode& n) { return {n.b.op("celu", {n.in(0)}, {{"alpha", n.number("alpha", 1)}})}; }

// gamma * (x > 0 ? x : alpha * (exp(x) - 1)); the op selu has the usual constants.
Results selu(OpNode& n) {
  n.ignore("consumed_inputs");
  const bool old = n.opset < 6;
  const double alpha = n.number("alpha", old ? 1.6732 : 1.67326319217681884765625);
  const double gamma = n.number("gamma", old ? 1.0507 : 1.05070102214813232421875);
  Value* x = n.b.compute(n.in(0));
  Value* result = n.b.mul(n.b.op("elu", {x}, {{"alpha", alpha}}), like(n, x, gamma));
  return {n.b.cast(result, n.in(0)->dtype())};
}

Results hard_sigmoid(OpNode& n) {
  n.ignore("consumed_inputs");
  Value* x = n.b.compute(n.in(0));
  Value* line =
      n.b.add(n.b.mul(x, like(n, x, n.number("alpha", 0.2))), like(n, x, n.number("beta", 0.5)));
  Value* result = n.b.op("clamp", {line}, {{"min", 0.0}, {"max", 1.0}});
  return {n.b.cast(result, n.in(0)->dtype())};
}

// The attribute is opset 20's; com.microsoft's operator is the exact form.
Results gelu(OpNode& n) {
  const std::string approximate = n.text("approximate", "none");
  n.require(approximate == "none" || approximate == "tanh", "approximate must be none or tanh");
  return {n.b.op("gelu", {n.in(0)}, {{"approximate", approximate}})};
}

// x + bias first (com.microsoft).
Results bias_gelu(OpNode& n) { return {n.b.op("gelu", {n.b.add(n.in(0), n.in(1))})}; }

Results fast_gelu(OpNode& n) {
  Value* x = n.in(0);
  if (Value* bias = n.maybe(1)) x = n.b.add(x, bias);
  return {n.b.op("gelu", {x}, {{"approximate", std::string("tanh")}})};
}

// x * sigmoid(alpha x), in compute precision.
Value* gated(OpNode& n, double alpha) {
  Value* x = n.b.compute(n.in(0));
  return n.b.mul(x, n.b.unary("sigmoid", n.b.mul(x, like(n, x, alpha))));
}

Results quick_gelu(OpNode& n) {
  return {n.b.cast(gated(n, n.number("alpha", 1.702)), n.in(0)->dtype())};
}

Results thresholded_relu(OpNode& n) {
  return {n.b.op("threshold", {n.in(0)}, {{"threshold", n.number("alpha", 1)}, {"value", 0.0}})};
}

Results shrink(OpNode& n) {
  Value* x = n.in(0);
  Value* result =
      n.b.op("shrink", {x}, {{"lambd", n.number("lambd", 0.5)}, {"bias", n.number("bias", 0)}});
  return {n.b.cast(result, x->dtype())};
}

// The slope is broadcast to x; before opset 7, a list of slopes is one per channel.
Results prelu(OpNode& n) {
  n.ignore("consumed_inputs");
  Value *x = n.in(0), *slope = n.in(1);
  if (n.opset < 7 && slope->rank() == 1 && x->rank() > 1 && !slope->shape()[0].is(1)) {
    Shape shape(static_cast<size_t>(x->rank() - 1), 1);
    shape[0] = slope->shape()[0];
    slope = n.b.reshape(slope, shape);
  }
  Value* negative = n.b.op("lt", {x, like(n, x, 0)});
  return {n.b.op("where", {negative, n.b.mul(x, slope), x})};
}

template <const char* op>
Results softmax(OpNode& n) {
  Value* x = n.in(0);
  const bool one_dim = n.opset >= 13;
  const int64_t axis = n.axis(n.integer("axis", one_dim ? -1 : 1), x->rank());
  return {softmax_along(n, x, axis, one_dim, op)};
}

Results swish(OpNode& n) {
  const double alpha = n.number("alpha", 1);
  return {alpha == 1 ? n.b.op("silu", {n.in(0)}) : n.b.cast(gated(n, alpha), n.in(0)->dtype())};
}

Results swiglu(OpNode& n) {
  Value *gate = n.in(0), *x = n.in(1);
  n.require(gate->dtype() == x->dtype() && gate->rank() == x->rank(),
            "A and B must have the same type and shape");
  Value* y = n.b.mul(gated(n, n.number("alpha", 1)), n.b.compute(x));
  n.require(y->shape() == gate->shape() && y->shape() == x->shape(),
            "A and B must have the same shape");
  return {n.b.cast(y, gate->dtype())};
}

constexpr char kHardmax[] = "hardmax", kHardswish[] = "hardswish", kMish[] = "mish",
               kLogSoftmax[] = "log_softmax", kRelu[] = "relu", kSigmoid[] = "sigmoid",
               kSoftmax[] = "softmax", kSoftplus[] = "softplus", kSoftsign[] = "softsign";

constexpr Rule kActivationRules[] = {
    {"BiasGelu", bias_gelu, "com.microsoft"},
    {"Celu", celu},
    {"Elu", elu},
    {"FastGelu", fast_gelu, "com.microsoft"},
    {"Gelu", gelu},
    {"Gelu", gelu, "com.microsoft"},
    {"HardSigmoid", hard_sigmoid},
    {"HardSwish", unary<kHardswish>},
    {"Hardmax", softmax<kHardmax>},
    {"LeakyRelu", leaky_relu},
    {"LogSoftmax", softmax<kLogSoftmax>},
    {"Mish", unary<kMish>},
    {"PRelu", prelu},
    {"QuickGelu", quick_gelu, "com.microsoft"},
    {"Relu", old_unary<kRelu>},
    {"Selu", selu},
    {"Shrink", shrink},
    {"Sigmoid", old_unary<kSigmoid>},
    {"Softmax", softmax<kSoftmax>},
    {"Softplus", unary<kSoftplus>},
    {"Softsign", unary<kSoftsign>},
    {"SwiGLU", swiglu},
    {"Swish", swish},
    {"ThresholdedRelu", thresholded_relu},
};

}  // namespace

std::span<const Rule> activation_rules() { return kActivationRules; }

}  // namespace tcc::onnx
