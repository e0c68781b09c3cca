#include "ir/ops/_elementwise.h"
#include "ir/ops/_indexing.h"
#include "ir/ops/_scatter.h"
#include "support/error.h"

namespace tcc::ir::ops::op_scatter_nd {
namespace {

// Dims of x that one tuple of indices chooses from: the leading ones.
size_t chosen_dims(const Shape& indices) { return static_cast<size_t>(indices.back().value()); }

const std::string& reduction_of(const Node& node) { return node.attr<std::string>("reduction"); }

std::vector<Type> infer(const InferContext& context) {
  const Type &x = *context.inputs[0], &indices = *context.inputs[1], &updates = *context.inputs[2];
  require_index(context, "indices", indices.dtype);
  context.require(x.dtype == updates.dtype,
                  str("x is ", name(x.dtype), " but updates ", name(updates.dtype)));
  context.require(reduction_of(context.node) == "none" || x.dtype != DType::boolean,
                  "reductions are not defined for bool");
  context.require(!indices.shape.empty(), "indices must have a dim");
  const SymInt& count = indices.shape.back();
  context.require(count.is_const() && count.value() <= static_cast<int64_t>(x.shape.size()),
                  str("indices of shape ", shape_text(indices.shape), " name ", count.to_string(),
                      " dims, x has ", x.shape.size()));
  Shape expected(indices.shape.begin(), indices.shape.end() - 1);
  expected.insert(expected.end(), x.shape.begin() + count.value(), x.shape.end());
  bool fits = expected.size() == updates.shape.size();
  for (size_t d = 0; fits && d < expected.size(); ++d)
    fits =
        !expected[d].is_const() || !updates.shape[d].is_const() || expected[d] == updates.shape[d];
  context.require(fits, str("updates must be of shape ", shape_text(expected), ", not ",
                            shape_text(updates.shape)));
  for (int d = 0; d < count.value(); ++d) require_not_empty(context, x.shape, d, updates.shape);
  return {x};
}

// Every element of the output reads all tuples, in order.
Expr element(ElementContext& context, std::span<const SymInt> index) {
  const Shape &x_shape = context.operand_type(0).shape, &indices = context.operand_type(1).shape;
  const Expr x = context.operand(0, index);
  const Shape tuples(indices.begin(), indices.end() - 1);
  if (product(tuples).is(0) || product(x_shape).is(0)) return x;
  std::vector<SymInt> axes, at;
  for (const SymInt& extent : tuples) axes.push_back(context.new_axis(extent));
  at = axes;
  at.emplace_back(0);
  std::vector<Expr> conditions;
  const size_t count = chosen_dims(indices);
  for (size_t d = 0; d < count; ++d) {
    at.back() = static_cast<int64_t>(d);
    const SymInt target = context.indirect(context.operand(1, at), x_shape[d]);
    conditions.push_back(call(Fn::eq, {index_value(target), index_value(index[d])}));
  }
  const Expr all = all_of(conditions);
  const Expr hit = all ? all : constant_int(DType::boolean, 1);
  const auto update_at = [&](std::vector<SymInt> source) {
    source.insert(source.end(), index.begin() + static_cast<std::ptrdiff_t>(count), index.end());
    return context.operand(2, source);
  };
  const std::string& reduction = reduction_of(context.node());
  if (reduction == "none") {  // the last one wins
    const Expr none = constant_int(DType::i64, -1), first = constant_int(DType::i64, 0);
    const Expr position = select(hit, index_value(linearize(axes, tuples)), none);
    const Expr last = reduce(ReduceKind::max, axes, position);
    const SymInt from = context.indirect(maximum(last, first), product(tuples));
    return select(equal(last, none), x, update_at(delinearize(from, tuples)));
  }
  const ReduceKind kind = scatter_kind(reduction);
  const Expr update = update_at(axes);
  const Expr term = select(hit, update, scatter_identity(kind, update->dtype));
  return scatter_fold(kind, x, reduce(kind, axes, term));
}

void reference(EvalContext& context) {
  const RefTensor &x = *context.inputs[0], &chosen = *context.inputs[1], &src = *context.inputs[2];
  RefTensor& out = context.outputs[0];
  out.f = x.f;
  out.i = x.i;
  if (src.numel() == 0) return;
  const auto count = static_cast<size_t>(chosen.shape.back());
  const std::span<const int64_t> shape = x.shape;
  const int64_t slice = count_of(shape.subspan(count));
  const int64_t tuples = count_of(std::span(chosen.shape).first(chosen.shape.size() - 1));
  const std::string& reduction = reduction_of(context.node);
  for (int64_t t = 0; t < tuples; ++t) {
    int64_t place_of = 0;
    for (size_t d = 0; d < count; ++d)
      place_of =
          place_of * shape[d] + place(chosen.i[static_cast<size_t>(t) * count + d], shape[d]);
    for (int64_t k = 0; k < slice; ++k) {
      const int64_t to = place_of * slice + k, from = t * slice + k;
      if (reduction == "none")
        copy_element(src, from, out, to);
      else
        scatter_fold(scatter_kind(reduction), out, static_cast<size_t>(to), src,
                     static_cast<size_t>(from));
    }
  }
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "scatter_nd";
  op.operands = {"x", "indices", "updates"};
  op.attrs = {{"reduction", AttrType::text, "none", {"none", "add", "mul", "max", "min"}}};
  op.doc =
      "x with the slices that the tuples along the last dim of indices name replaced by updates "
      "(the last of several at one place), or combined with them in order; negative indices count "
      "from the end; ONNX ScatterND";
  op.infer = infer;
  op.element = element;
  op.reference = reference;
  using enum DType;
  const auto with = [](const char* reduction) {
    return Attrs{{"reduction", std::string(reduction)}};
  };
  op.samples = {{.inputs = {{f32, {8, 5}}, {i64, {3, 1}}, {f32, {3, 5}}}, .int_lo = -8},
                {.inputs = {{f16, {8, 8}}, {i32, {2, 6, 2}}, {f16, {2, 6}}}, .attrs = with("add")},
                {.inputs = {{f32, {8, 3}}, {i64, {9, 1}}, {f32, {9, 3}}}, .attrs = with("mul")},
                {.inputs = {{f32, {8}}, {i64, {5, 1}}, {f32, {5}}}, .attrs = with("max")},
                {.inputs = {{i32, {8, 2}}, {i64, {5, 1}}, {i32, {5, 2}}}, .attrs = with("min")},
                {.inputs = {{boolean, {8}}, {i64, {4, 1}}, {boolean, {4}}}, .int_lo = -8},
                {.inputs = {{f32, {8, 2}}, {i64, {1}}, {f32, {2}}}},
                {.inputs = {{f32, {3, 2}}, {i64, {2, 0}}, {f32, {2, 3, 2}}}, .attrs = with("add")},
                {.inputs = {{f32, {8}}, {i64, {0, 1}}, {f32, {0}}}}};
  return op;
}

}  // namespace tcc::ir::ops::op_scatter_nd
