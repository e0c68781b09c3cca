#include <limits>
#include <optional>

#include "ir/builder.h"
#include "ir/ops/_elementwise.h"
#include "ir/ops/_random.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::ir::ops::op_randint {
namespace {

constexpr int64_t kResolution = int64_t{1} << 24;  // how many values a uniform number can take

int64_t low(const Node& node) { return node.attr<int64_t>("low"); }

// Returns the number of values to choose from.
int64_t span(const Node& node) { return node.attr<int64_t>("high") - low(node); }

}  // namespace

OpDef make() {
  OpDef op = random_op("randint", Fn::rand_uniform, random_uniform,
                       "Whole numbers in [low, high): low + floor(u (high - low)) with the u of "
                       "`rand`; torch.randint");
  op.attrs = {{"low", AttrType::integer, int64_t{0}},
              {"high", AttrType::integer, std::nullopt},
              size_attr({"size", AttrType::ints, std::nullopt, {}, true}),
              size_attr({"seed", AttrType::integer, int64_t{0}}),
              size_attr({"offset", AttrType::integer, int64_t{0}}),
              {"dtype", AttrType::dtype, DType::i64}};
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    const DType dtype = context.node.attr<DType>("dtype");
    context.require(is_integer(dtype), str("dtype must be an integer type, not ", name(dtype)));
    const auto count = checked_add(context.node.attr<int64_t>("high"), -low(context.node));
    context.require(low(context.node) > std::numeric_limits<int64_t>::min() && count &&
                        *count > 0 && *count <= kResolution,
                    str("high - low must lie between 1 and ", kResolution));
    require_random_state(context);
    return {{dtype, checked_shape(context, symint_list(context.node, "size"))}};
  };
  // In integers, so that every device rounds alike.
  op.element = [](ElementContext& context, std::span<const SymInt> index) {
    const auto whole = [](int64_t value) { return constant_int(DType::i64, value); };
    const Expr uniform = random_element(Fn::rand_uniform, context, index);
    const Expr bits = cast(mul(uniform, literal(uniform, kResolution)), DType::i64);
    const Expr scaled = mul(bits, whole(span(context.node())));
    const Expr value = add(call(Fn::shift_right, {scaled, whole(24)}), whole(low(context.node())));
    return converted(value, context.node().attr<DType>("dtype"));
  };
  op.reference = [](EvalContext& context) {
    const RandomStream stream = stream_of(context);
    RefTensor& out = context.outputs[0];
    for_each_index(out.shape, [&](std::span<const int64_t>, int64_t i) {
      const auto bits = static_cast<int64_t>(random_uniform(stream, i) * kResolution);
      out.i[static_cast<size_t>(i)] = low(context.node) + bits * span(context.node) / kResolution;
    });
  };
  op.samples = {
      {.inputs = {}, .attrs = {{"high", 10}, {"size", ints({5, 7})}}},
      {.inputs = {},
       .attrs = {
           {"low", -3}, {"high", 4}, {"size", ints({33})}, {"seed", 9}, {"dtype", DType::i32}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_randint
