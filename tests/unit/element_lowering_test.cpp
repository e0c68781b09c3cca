// Every op's loop expression against its reference, both evaluated on the host: the lowering says
// what the reference says, reads in range, and an inverse view undoes the view.
#include <gtest/gtest.h>

#include <random>

#include "autotune/expr_program.h"
#include "ir/append.h"
#include "ir/ops/_index_loop.h"
#include "support/error.h"
#include "tests/unit/op_runner.h"

namespace tcc::ir {
namespace {

// Operands are buffers 0, 1, ... in row-major order; axes are named as they come.
class HostElementContext : public ElementContext {
 public:
  explicit HostElementContext(const Node& node) : node_(node) {}
  const Node& node() const override { return node_; }
  Expr operand(int k, std::span<const SymInt> index) override {
    const Type& type = operand_type(k);
    EXPECT_EQ(index.size(), type.shape.size());
    return load(k, type.dtype, linearize(index, type.shape));
  }
  SymInt new_axis(const SymInt& extent) override {
    return SymInt::axis("r" + std::to_string(count_++), extent);
  }
  SymInt indirect(const Expr& value, const SymInt& extent) override {
    const auto whole = [](const SymInt& x) { return index_value(x); };
    const Expr i = value->dtype == DType::i64 ? value : cast(value, DType::i64);
    const Expr from_end = call(Fn::lt, {i, whole(0)});
    const Expr front = select(from_end, add(i, whole(extent)), i);
    const Expr clamped =
        call(Fn::maximum, {call(Fn::minimum, {front, whole(extent - 1)}), whole(0)});
    return SymInt::indirect("n" + std::to_string(count_++), clamped, {0, extent.value() - 1});
  }

 private:
  const Node& node_;
  int count_ = 0;
};

// With `specials`, every fourth float is a NaN, an infinity or a zero.
RefTensor draw(const Type& type, const OpSample& sample, bool specials, std::mt19937& random) {
  RefTensor x(type.dtype, const_shape(type.shape));
  std::uniform_real_distribution<double> floats(sample.lo, sample.hi);
  const bool is_bool = type.dtype == DType::boolean;
  std::uniform_int_distribution<int64_t> ints(is_bool ? 0 : sample.int_lo,
                                              is_bool ? 1 : sample.int_hi - 1);
  const double special[] = {std::nan(""), INFINITY, -INFINITY, 0.0, -0.0};
  for (double& value : x.f) {
    value = floats(random);
    if (specials && random() % 4 == 0) value = special[random() % std::size(special)];
    value = round_to(type.dtype, value);
  }
  for (int64_t& value : x.i) value = wrap_to(type.dtype, ints(random));
  return x;
}

bool is_close(double actual, double expected) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual)) return actual == expected;
  // Constants of the expression are rounded to f32.
  return std::fabs(actual - expected) <= 2e-6 * (1 + std::fabs(expected));
}

autotune::ExprBuffer buffer_of(const RefTensor& x) { return {x.dtype, x.numel(), x.f, x.i}; }

void check_inverse(const Node& node, std::span<const SymInt> axes, const RefTensor& out,
                   std::span<const autotune::ExprBuffer> buffers) {
  // The operand's index as the view's source; HostElementContext hides it in an offset.
  HostElementContext context(node);
  const Expr element = node.op->element(context, axes);
  const autotune::ExprProgram program(index_value(element->index), axes);
  autotune::ExprEvaluator offset(program, buffers, autotune::ExprEvaluator::Rounding::none);
  const auto x = const_shape(node.inputs[0]->shape());
  std::vector<int64_t> index = ops::index_of(0, out.shape);
  for (int64_t k = 0; k < out.numel(); ++k, ops::advance(index, out.shape)) {
    const auto source = ops::index_of(offset(index).integer, x);
    const std::vector<SymInt> given(source.begin(), source.end());
    ASSERT_EQ(const_shape(node.op->inverse(node, given)), index) << "element " << k;
  }
}

void check_sample(const OpDef& op, const OpSample& sample, bool specials) {
  std::mt19937 random(1);
  const Graph graph = test::op_graph(op.name, sample.inputs, sample.attrs);
  const Node& node = *graph.nodes()[0];
  std::vector<RefTensor> inputs;
  for (const Type& type : sample.inputs) inputs.push_back(draw(type, sample, specials, random));
  const std::vector<RefTensor> given(inputs.end() - std::ssize(graph.inputs), inputs.end());
  const RefTensor out = interpret(graph, given, RefMode::ideal).front();
  if (out.numel() == 0) return;

  std::vector<autotune::ExprBuffer> buffers;
  for (const RefTensor& x : inputs) buffers.push_back(buffer_of(x));
  std::vector<SymInt> axes;
  for (size_t d = 0; d < out.shape.size(); ++d)
    axes.push_back(SymInt::axis("i" + std::to_string(d), out.shape[d]));
  HostElementContext context(node);
  const Expr element = op.element(context, axes);
  ASSERT_EQ(element->dtype, compute_dtype(out.dtype));

  const autotune::ExprProgram program(element, axes);
  autotune::ExprEvaluator evaluate(program, buffers, autotune::ExprEvaluator::Rounding::none);
  std::vector<int64_t> index = ops::index_of(0, out.shape);
  const auto is_stored = [&](const std::vector<int64_t>& at) {
    if (!appends(node)) return true;
    const Append append = append_of(node);
    const int64_t row = at[static_cast<size_t>(append.dim)] - append.length.value();
    return row >= 0 && row < append.added().value();
  };
  for (int64_t k = 0; k < out.numel(); ++k, ops::advance(index, out.shape)) {
    if (!is_stored(index)) continue;
    const Number value = evaluate(index);
    const auto at = static_cast<size_t>(k);
    if (out.is_float())
      // Only one of the two rounds a cast's result; both are as they would be stored.
      ASSERT_PRED2(is_close, round_to(out.dtype, value.number), round_to(out.dtype, out.f[at]))
          << "element " << k;
    else
      ASSERT_EQ(value.integer, out.i[at]) << "element " << k;
  }
  if (op.inverse) check_inverse(node, axes, out, buffers);
}

TEST(ElementLowering, AgreesWithTheReference) {
  for (const OpDef& op : all_ops()) {
    if (!op.element) continue;
    for (size_t k = 0; k < op.samples.size(); ++k) {
      for (bool specials : {false, true}) {
        // A neighbour that counts with weight 0 may be either one.
        if (specials && (op.name.ends_with("resample") || op.name == "grid_sample")) continue;
        SCOPED_TRACE(str(op.name, " sample ", k, specials ? " with special numbers" : ""));
        try {
          check_sample(op, op.samples[k], specials);
        } catch (const Error& error) { ADD_FAILURE() << error.what(); }
      }
    }
  }
}

}  // namespace
}  // namespace tcc::ir
