#include <algorithm>

#include "ir/ops/_elementwise.h"
#include "ir/ops/_indexing.h"
#include "support/error.h"

namespace tcc::ir::ops::op_reverse_sequence {
namespace {

struct Dims {
  size_t sequence, batch;
  explicit Dims(const Node& node)
      : sequence(static_cast<size_t>(dim_attr(node, "dim", node.inputs[0]->rank()))),
        batch(static_cast<size_t>(dim_attr(node, "batch_dim", node.inputs[0]->rank()))) {}
};

std::vector<Type> infer(const InferContext& context) {
  const Type &x = *context.inputs[0], &lengths = *context.inputs[1];
  require_index(context, "lengths", lengths.dtype);
  const int rank = static_cast<int>(x.shape.size());
  const int dim = dim_attr(context, "dim", rank), batch = dim_attr(context, "batch_dim", rank);
  context.require(dim != batch, str("dim and batch_dim are both ", dim));
  const SymInt& count = x.shape[static_cast<size_t>(batch)];
  const bool fits = lengths.shape.size() == 1 && (!lengths.shape[0].is_const() ||
                                                  !count.is_const() || lengths.shape[0] == count);
  context.require(fits, str("lengths of shape ", shape_text(lengths.shape),
                            " is not one length for each of ", count.to_string()));
  return {x};
}

// Positions before the length are mirrored, the others stay; lengths beyond the dim count as whole.
Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Dims dims(context.node());
  const SymInt& extent = context.operand_type(0).shape[dims.sequence];
  const Expr given = converted(context.operand(1, {&index[dims.batch], 1}), DType::i64);
  const Expr length = minimum(given, index_value(extent));
  const Expr at = index_value(index[dims.sequence]);
  const Expr mirrored = sub(sub(length, at), constant_int(DType::i64, 1));
  std::vector<SymInt> source(index.begin(), index.end());
  source[dims.sequence] =
      context.indirect(select(less(at, length), mirrored, at), max(extent, SymInt(1)));
  return context.operand(0, source);
}

void reference(EvalContext& context) {
  const Dims dims(context.node);
  copy_indexed(context, [&](std::span<const int64_t> index, std::span<int64_t> from) {
    const int64_t length = std::min(context.inputs[1]->i[static_cast<size_t>(index[dims.batch])],
                                    context.inputs[0]->shape[dims.sequence]);
    std::copy(index.begin(), index.end(), from.begin());
    int64_t& at = from[dims.sequence];
    if (at < length) at = length - 1 - at;
  });
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "reverse_sequence";
  op.operands = {"x", "lengths"};
  op.attrs = {{"dim", AttrType::integer, int64_t{0}}, {"batch_dim", AttrType::integer, int64_t{1}}};
  op.doc =
      "x with the first lengths[b] elements along `dim` in reverse order, for each b of "
      "`batch_dim`; ONNX ReverseSequence";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  op.takes_f8 = true;
  using enum DType;
  op.samples = {{.inputs = {{f32, {6, 4}}, {i64, {4}}}, .int_hi = 7},
                {.inputs = {{f16, {3, 9, 2}}, {i32, {3}}},
                 .attrs = {{"dim", 1}, {"batch_dim", 0}},
                 .int_lo = -1,
                 .int_hi = 12},
                {.inputs = {{boolean, {1, 2}}, {i64, {2}}}},
                {.inputs = {{i32, {0, 2}}, {i64, {2}}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_reverse_sequence
