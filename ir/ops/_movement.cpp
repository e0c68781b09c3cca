#include "ir/ops/_movement.h"

#include <memory>
#include <utility>

#include "ir/assumed_equal.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

// The dims of a shape that are not 1: those that an index has to say something about.
struct Dims {
  std::vector<size_t> at;
  std::vector<SymInt> extents;
  std::vector<SymInt> prefix = {1};  // prefix[i]: the product of the first i extents
};

Dims proper_dims(const Shape& shape) {
  Dims dims;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d].is(1)) continue;
    dims.at.push_back(d);
    dims.extents.push_back(shape[d]);
    dims.prefix.push_back(dims.prefix.back() * shape[d]);
  }
  return dims;
}

bool has_zero(const Shape& shape) {
  for (const SymInt& dim : shape)
    if (dim.is(0)) return true;
  return false;
}

}  // namespace

OpDef view(View spec) {
  OpDef op;
  op.name = std::move(spec.name);
  op.kind = OpKind::view;
  op.operands = {"x"};
  op.attrs = std::move(spec.attrs);
  op.doc = std::move(spec.doc);
  op.infer = [shape = std::move(spec.shape)](const InferContext& context) -> std::vector<Type> {
    return {{context.inputs[0]->dtype, shape(context)}};
  };
  op.element = [source = std::move(spec.source)](ElementContext& context,
                                                 std::span<const SymInt> index) {
    return context.operand(0, source(context.node(), index));
  };
  op.inverse = std::move(spec.inverse);
  op.reference = std::move(spec.reference);
  return op;
}

void copy_flat(EvalContext& context) {
  context.outputs[0].f = context.inputs[0]->f;
  context.outputs[0].i = context.inputs[0]->i;
}

void copy_element(const RefTensor& x, int64_t from, RefTensor& out, int64_t to) {
  if (x.is_float())
    out.f[static_cast<size_t>(to)] = x.f[static_cast<size_t>(from)];
  else
    out.i[static_cast<size_t>(to)] = x.i[static_cast<size_t>(from)];
}

void copy_strided(EvalContext& context, int64_t offset, std::span<const int64_t> strides) {
  const RefTensor& x = *context.inputs[0];
  RefTensor& out = context.outputs[0];
  for_each_index(out.shape, [&](std::span<const int64_t> index, int64_t to) {
    int64_t from = offset;
    for (size_t d = 0; d < index.size(); ++d) from += index[d] * strides[d];
    copy_element(x, from, out, to);
  });
}

void copy_indexed(
    EvalContext& context,
    const std::function<void(std::span<const int64_t> index, std::span<int64_t> source)>& source) {
  const RefTensor& x = *context.inputs[0];
  RefTensor& out = context.outputs[0];
  for_each_index(out.shape, [&](std::span<const int64_t> index, int64_t to) {
    std::vector<int64_t> from(x.shape.size());
    source(index, from);
    copy_element(x, offset_of(from, x.shape), out, to);
  });
}

std::vector<SymInt> reshaped_index(std::span<const SymInt> index, const Shape& from,
                                   const Shape& to) {
  std::vector<SymInt> result(to.size(), 0);
  if (has_zero(from) || has_zero(to)) return result;  // there is no element to index
  const Dims a = proper_dims(from), b = proper_dims(to);
  // Every pair of equal prefix products ends a group of dims that maps to itself.
  size_t group_a = 0, group_b = 0;
  const auto map_group = [&](size_t end_a, size_t end_b) {
    std::vector<SymInt> extents_a, extents_b, index_a;
    for (size_t i = group_a; i < end_a; ++i) {
      extents_a.push_back(a.extents[i]);
      index_a.push_back(index[a.at[i]]);
    }
    for (size_t j = group_b; j < end_b; ++j) extents_b.push_back(b.extents[j]);
    const auto mapped = index_a.size() == 1 && extents_b.size() == 1
                            ? index_a
                            : delinearize(linearize(index_a, extents_a), extents_b);
    for (size_t j = group_b; j < end_b; ++j) result[b.at[j]] = mapped[j - group_b];
    group_a = end_a;
    group_b = end_b;
  };
  for (size_t i = 1; i < a.prefix.size(); ++i)
    for (size_t j = group_b + 1; j < b.prefix.size(); ++j) {
      if (!(a.prefix[i] == b.prefix[j])) continue;
      map_group(i, j);
      break;
    }
  if (group_a < a.at.size() || group_b < b.at.size()) map_group(a.at.size(), b.at.size());
  return result;
}

std::vector<SymInt> regroup(const Node& node, std::span<const SymInt> index) {
  return reshaped_index(index, node.outputs[0]->shape(), node.inputs[0]->shape());
}

std::vector<SymInt> regroup_inverse(const Node& node, std::span<const SymInt> index) {
  return reshaped_index(index, node.inputs[0]->shape(), node.outputs[0]->shape());
}

OpDef regrouping(std::string name, std::string doc, std::vector<AttrDef> attrs,
                 std::function<Shape(const InferContext&)> shape) {
  return view({.name = std::move(name),
               .doc = std::move(doc),
               .attrs = std::move(attrs),
               .shape = std::move(shape),
               .source = regroup,
               .inverse = regroup_inverse,
               .reference = copy_flat});
}

Shape resolved_reshape(const InferContext& context, const Shape& from, const Shape& target) {
  Shape result = target;
  SymInt* inferred = nullptr;
  SymInt rest = 1;
  for (SymInt& dim : result) {
    if (dim.is(-1)) {
      context.require(!inferred, str("shape ", shape_text(target), " has more than one -1"));
      inferred = &dim;
      continue;
    }
    rest = checked_size(context, rest, dim);
  }
  const SymInt count = product(from);
  const auto mismatch = [&] {
    context.fail(
        str("shape ", shape_text(target), " does not fit the elements of ", shape_text(from)));
  };
  if (inferred) {
    if (rest.is(0)) mismatch();
    *inferred = 1;
    if (rest.is_const() && rest.value() < 0) checked_shape(context, result);
    *inferred = floordiv(count, rest);
    rest = rest * *inferred;
  }
  if (!(rest == count)) {
    if (rest.is_const() && count.is_const()) mismatch();
    assume_equal(count, rest);
  }
  return checked_shape(context, result);
}

SymInt clamped_index(const SymInt& index, const SymInt& extent) {
  return max(min(index, extent - 1), 0);
}

}  // namespace tcc::ir::ops
