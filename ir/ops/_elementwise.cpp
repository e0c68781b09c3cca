#include "ir/ops/_elementwise.h"

#include <memory>
#include <utility>

#include "ir/ops/_index_loop.h"
#include "ir/ops/_integers.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

using SpecPtr = std::shared_ptr<const Pointwise>;

// `dtype_of(k)` is operand k's.
template <class DTypeOf>
DType working_dtype(const Pointwise& spec, const Node& node, const DTypeOf& dtype_of) {
  const int count = static_cast<int>(spec.operands.size());
  const int first = spec.condition == 0 ? 1 : 0;
  DType common = dtype_of(first);
  for (int k = first + 1; k < count; ++k)
    if (k != spec.condition) common = promote(common, dtype_of(k));
  return spec.working(node, common);
}

DType working_dtype(const Pointwise& spec, const Node& node) {
  return working_dtype(spec, node,
                       [&](int k) { return node.inputs[static_cast<size_t>(k)]->dtype(); });
}

bool is_defined_for(const Pointwise& spec, DType working) {
  if (is_float(working)) return static_cast<bool>(spec.on_floats);
  return working == DType::boolean ? spec.on_bool : static_cast<bool>(spec.on_integers);
}

std::vector<Type> infer(const Pointwise& spec, const InferContext& context) {
  const auto dtype_of = [&](int k) { return context.inputs[static_cast<size_t>(k)]->dtype; };
  const DType working = working_dtype(spec, context.node, dtype_of);
  context.require(is_defined_for(spec, working), str("is not defined for ", name(working)));
  if (spec.condition >= 0) {
    context.require(dtype_of(spec.condition) == DType::boolean,
                    str(spec.operands[static_cast<size_t>(spec.condition)], " must be bool, not ",
                        name(dtype_of(spec.condition))));
  }
  if (spec.check) spec.check(context);
  Shape shape = context.inputs[0]->shape;
  for (const Type* type : context.inputs.subspan(1)) shape = context.broadcast(shape, type->shape);
  return {{spec.to_bool ? DType::boolean : working, shape}};
}

Expr element(const Pointwise& spec, ElementContext& context, std::span<const SymInt> index) {
  const Node& node = context.node();
  const DType working = working_dtype(spec, node);
  std::vector<Expr> values;
  for (int k = 0; k < static_cast<int>(spec.operands.size()); ++k) {
    const Expr value = context.operand(k, broadcast_index(index, context.operand_type(k).shape));
    values.push_back(k == spec.condition ? value : converted(value, working));
  }
  const Expr result = spec.element(Exprs{node, working, values});
  const DType expected = spec.to_bool ? DType::boolean : compute_dtype(working);
  TCC_CHECK(result->dtype == expected, spec.name, " on ", name(working), " gives ",
            name(result->dtype));
  return result;
}

int64_t read_int(const RefTensor& x, int64_t offset, DType working) {
  const auto at = static_cast<size_t>(offset);
  if (x.is_float()) return x.f[at] != 0;  // only bool is ever narrower than a float operand
  return working == DType::boolean ? x.i[at] != 0 : x.i[at];
}

void store(RefTensor& out, int64_t offset, double value) {
  const auto at = static_cast<size_t>(offset);
  if (out.is_float())
    out.f[at] = value;
  else
    out.i[at] = static_cast<int64_t>(value);
}

void store(RefTensor& out, int64_t offset, int64_t value) {
  out.i[static_cast<size_t>(offset)] = value;
}

// read(operand, offset) gives a T; `function` the output's element.
template <class T, class Read, class Function>
void evaluate(EvalContext& context, DType working, const Read& read, const Function& function) {
  RefTensor& out = context.outputs[0];
  for_each_index(out.shape, [&](std::span<const int64_t> index, int64_t offset) {
    T values[4];
    const size_t count = context.inputs.size();
    TCC_CHECK(count <= std::size(values), "operands: ", count);
    for (size_t k = 0; k < count; ++k) {
      const RefTensor& x = *context.inputs[k];
      values[k] = read(x, x.shape == out.shape ? offset : broadcast_offset(index, x.shape));
    }
    store(out, offset, function(Operands<T>{context.node, working, {values, count}}));
  });
}

void reference(const Pointwise& spec, EvalContext& context) {
  const DType working = working_dtype(spec, context.node);
  if (is_float(working)) {
    evaluate<double>(context, working, float_at, spec.on_floats);
    return;
  }
  const auto read = [&](const RefTensor& x, int64_t at) { return read_int(x, at, working); };
  evaluate<int64_t>(context, working, read, spec.on_integers);
}

template <class T>
bool compare(Comparison kind, T a, T b) {
  switch (kind) {
    case Comparison::eq: return a == b;
    case Comparison::ne: return a != b;
    case Comparison::lt: return a < b;
    case Comparison::le: return a <= b;
    case Comparison::gt: return a > b;
    case Comparison::ge: return a >= b;
  }
  return false;
}

Fn function_of(Comparison kind) {
  constexpr Fn functions[] = {Fn::eq, Fn::ne, Fn::lt, Fn::le, Fn::gt, Fn::ge};
  return functions[static_cast<size_t>(kind)];
}

}  // namespace

OpDef pointwise(Pointwise spec) {
  OpDef op;
  op.name = spec.name;
  op.kind = OpKind::pointwise;
  op.operands = spec.operands;
  op.attrs = spec.attrs;
  op.doc = spec.doc;
  const SpecPtr shared = std::make_shared<const Pointwise>(std::move(spec));
  op.infer = [shared](const InferContext& context) { return infer(*shared, context); };
  op.reference = [shared](EvalContext& context) { reference(*shared, context); };
  op.element = [shared](ElementContext& context, std::span<const SymInt> index) {
    return element(*shared, context, index);
  };
  return op;
}

OpDef unary_float(std::string name, Fn fn, double (*reference)(double), std::string doc) {
  return pointwise({.name = std::move(name),
                    .operands = {"x"},
                    .doc = std::move(doc),
                    .working = as_float,
                    .element = [fn](const Exprs& x) { return unary(fn, x[0]); },
                    .on_floats = [reference](const Floats& x) { return reference(x[0]); }});
}

OpDef rounding(std::string name, Fn fn, double (*reference)(double), std::string doc) {
  return pointwise(
      {.name = std::move(name),
       .operands = {"x"},
       .doc = std::move(doc),
       .element = [fn](const Exprs& x) { return is_float(x.dtype) ? unary(fn, x[0]) : x[0]; },
       .on_floats = [reference](const Floats& x) { return reference(x[0]); },
       .on_integers = [](const Ints& x) { return x[0]; }});
}

OpDef comparison(std::string name, Comparison kind, std::string doc) {
  OpDef op = pointwise(
      {.name = std::move(name),
       .operands = {"a", "b"},
       .doc = std::move(doc),
       .working = as_number,
       .to_bool = true,
       .element =
           [kind](const Exprs& x) {
             return call(function_of(kind), {x[0], x[1]});
           },
       .on_floats = [kind](const Floats& x) { return compare(kind, x[0], x[1]) ? 1.0 : 0.0; },
       .on_integers = [kind](const Ints& x) -> int64_t {
         if (x.dtype != DType::u64) return compare(kind, x[0], x[1]);
         return compare(kind, static_cast<uint64_t>(x[0]), static_cast<uint64_t>(x[1]));
       }});
  op.tie_sensitive = true;
  return op;
}

double float_at(const RefTensor& x, int64_t offset) {
  const auto at = static_cast<size_t>(offset);
  if (x.is_float()) return x.f[at];
  return x.dtype == DType::u64 ? static_cast<double>(static_cast<uint64_t>(x.i[at]))
                               : static_cast<double>(x.i[at]);
}

std::vector<SymInt> broadcast_index(std::span<const SymInt> index, const Shape& shape) {
  TCC_CHECK(shape.size() <= index.size(), "rank ", shape.size(), " in rank ", index.size());
  std::vector<SymInt> result(index.end() - static_cast<std::ptrdiff_t>(shape.size()), index.end());
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d].is(1)) result[d] = 0;
  return result;
}

Expr literal(const Expr& like, double value) {
  if (is_float(like->dtype)) return constant(like->dtype, value);
  return constant_int(like->dtype, whole_value(value));
}

Expr literal(const Expr& like, const Node& node, std::string_view key) {
  if (is_float(like->dtype)) return constant(like->dtype, number_attr(node, key));
  return constant_int(like->dtype, whole_attr(node, key));
}

Expr converted(const Expr& value, DType dtype) {
  const DType target = compute_dtype(dtype);
  return value->dtype == target ? value : cast(value, target);
}

}  // namespace tcc::ir::ops
