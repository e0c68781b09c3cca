#include <algorithm>
#include <functional>

#include "ir/builder.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_einsum.h"
#include "support/error.h"

namespace tcc::ir::ops::op_einsum {
namespace {

bool has(const std::vector<Label>& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// An operand with the labels of its dims, each once.
struct Term {
  Value* value;
  std::vector<Label> labels;
};

Shape extents_of(const Einsum& einsum, const std::vector<Label>& labels) {
  Shape shape;
  for (Label label : labels) shape.push_back(einsum.extents.at(label));
  return shape;
}

Term permuted(Builder& b, const Term& term, const std::vector<Label>& labels) {
  if (term.labels == labels) return term;
  std::vector<int64_t> dims;
  for (Label label : labels)
    dims.push_back(std::find(term.labels.begin(), term.labels.end(), label) - term.labels.begin());
  return {b.permute(term.value, dims), labels};
}

// A label that occurs twice takes the diagonal: the two dims, brought last and joined, are read
// with a step of n + 1.
Term take_diagonals(Builder& b, Term term, const Einsum& einsum) {
  for (size_t first = 0; first < term.labels.size(); ++first) {
    const auto twin = std::find(term.labels.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                                term.labels.end(), term.labels[first]);
    if (twin == term.labels.end()) continue;
    const Label label = term.labels[first];
    const SymInt n = einsum.extents.at(label);
    TCC_CHECK(n.is_const(), "a diagonal of symbolic extent");
    const auto second = static_cast<size_t>(twin - term.labels.begin());
    std::vector<int64_t> dims;
    std::vector<Label> labels;
    for (size_t d = 0; d < term.labels.size(); ++d) {
      if (d == first || d == second) continue;
      dims.push_back(static_cast<int64_t>(d));
      labels.push_back(term.labels[d]);
    }
    dims.insert(dims.end(), {static_cast<int64_t>(first), static_cast<int64_t>(second)});
    Shape joined = extents_of(einsum, labels);
    const auto at = static_cast<int64_t>(joined.size());
    joined.push_back(n * n);
    Value* value = b.reshape(b.permute(term.value, dims), joined);
    labels.push_back(label);
    return take_diagonals(b, {b.slice(value, at, 0, n * n, n.value() + 1), labels}, einsum);
  }
  return term;
}

// Returns the term summed over the labels that are not `wanted`.
Term keep_labels(Builder& b, const Term& term, const std::function<bool(Label)>& wanted) {
  Term result{term.value, {}};
  std::vector<int64_t> dims;
  for (size_t d = 0; d < term.labels.size(); ++d) {
    if (wanted(term.labels[d]))
      result.labels.push_back(term.labels[d]);
    else
      dims.push_back(static_cast<int64_t>(d));
  }
  if (!dims.empty())
    result.value = b.cast(b.reduce("sum", b.compute(term.value), dims), term.value->dtype());
  return result;
}

// The product of two terms, summed over their common labels that are not wanted. Labels of only one
// term are all wanted.
Term contract(Builder& b, const Einsum& einsum, const Term& x, const Term& y,
              const std::function<bool(Label)>& wanted) {
  std::vector<Label> batch, m, n, k;
  for (Label label : x.labels)
    (!has(y.labels, label) ? m : wanted(label) ? batch : k).push_back(label);
  for (Label label : y.labels)
    if (!has(x.labels, label)) n.push_back(label);
  const auto joined = [](std::initializer_list<const std::vector<Label>*> parts) {
    std::vector<Label> all;
    for (const auto* part : parts) all.insert(all.end(), part->begin(), part->end());
    return all;
  };
  const std::vector<Label> out = joined({&batch, &m, &n});
  const Shape batch_shape = extents_of(einsum, batch);
  const auto shaped = [&](const Term& term, const std::vector<Label>& labels, const Shape& tail) {
    Shape shape = batch_shape;
    shape.insert(shape.end(), tail.begin(), tail.end());
    return b.reshape(permuted(b, term, labels).value, shape);
  };
  const Shape m_shape = extents_of(einsum, m), n_shape = extents_of(einsum, n);
  if (k.empty()) {
    Shape m_tail = m_shape, n_tail(m_shape.size(), SymInt(1));
    m_tail.resize(m_shape.size() + n_shape.size(), SymInt(1));
    n_tail.insert(n_tail.end(), n_shape.begin(), n_shape.end());
    Value* left = shaped(x, joined({&batch, &m}), m_tail);
    return {b.mul(left, shaped(y, joined({&batch, &n}), n_tail)), out};
  }
  const SymInt depth = product(extents_of(einsum, k));
  Value* a = shaped(x, joined({&batch, &m, &k}), {product(m_shape), depth});
  Value* c = shaped(y, joined({&batch, &k, &n}), {depth, product(n_shape)});
  return {b.reshape(b.matmul(a, c), extents_of(einsum, out)), out};
}

DType result_dtype(std::span<Value* const> operands) {
  DType dtype = operands[0]->dtype();
  for (const Value* operand : operands) dtype = promote(dtype, operand->dtype());
  return dtype;
}

std::vector<Value*> compose_einsum(Builder& b, const Node& node) {
  std::vector<Shape> shapes;
  for (const Value* operand : node.inputs) shapes.push_back(operand->shape());
  const Einsum einsum = parse_einsum(node.attr<std::string>("equation"), shapes);
  const auto wanted_after = [&](size_t k) {
    return [&einsum, k](Label label) {
      if (has(einsum.output, label)) return true;
      for (size_t later = k + 1; later < einsum.operands.size(); ++later)
        if (has(einsum.operands[later], label)) return true;
      return false;
    };
  };
  const DType dtype = result_dtype(node.inputs);
  Term total;
  for (size_t k = 0; k < einsum.operands.size(); ++k) {
    const auto wanted = wanted_after(k);
    Value* value = b.expand(b.cast(node.inputs[k], dtype), extents_of(einsum, einsum.operands[k]));
    Term term = take_diagonals(b, {value, einsum.operands[k]}, einsum);
    term = keep_labels(
        b, term, [&](Label label) { return wanted(label) || (k > 0 && has(total.labels, label)); });
    if (k == 0) {
      total = term;
      continue;
    }
    // Dims that only the last operand also wants are contracted here; the rest goes on.
    total =
        contract(b, einsum,
                 keep_labels(b, total,
                             [&](Label label) { return wanted(label) || has(term.labels, label); }),
                 term, wanted);
  }
  return {permuted(b, total, einsum.output).value};
}

}  // namespace

OpDef make() {
  OpDef op;
  op.name = "einsum";
  op.kind = OpKind::composite;
  op.operands = {"xs..."};
  op.attrs = {{"equation", AttrType::text, std::nullopt}};
  op.doc =
      "Sum of products by an equation such as \"bij,bjk->bik\", contracted pair by pair from the "
      "left; torch.einsum";
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    std::vector<Shape> shapes;
    for (const Type* type : context.inputs) {
      context.require(type->dtype != DType::boolean, "bool has no einsum");
      shapes.push_back(type->shape);
    }
    const Einsum einsum =
        parse_einsum(context.node.attr<std::string>("equation"), shapes, &context);
    for (const auto& labels : einsum.operands)
      for (Label label : labels)
        context.require(std::count(labels.begin(), labels.end(), label) == 1 ||
                            einsum.extents.at(label).is_const(),
                        "a diagonal must have a constant extent");
    return {{result_dtype(context.node.inputs),
             checked_shape(context, extents_of(einsum, einsum.output))}};
  };
  op.compose = compose_einsum;
  using enum DType;
  const auto equation = [](const char* text) { return Attrs{{"equation", std::string(text)}}; };
  op.samples = {
      {{{f32, {5, 7}}, {f32, {7, 3}}}, equation("ij,jk->ik")},
      {{{f32, {2, 5, 7}}, {f32, {2, 3, 7}}}, equation("bij,bkj->bki")},
      {{{f32, {5}}, {f32, {4}}}, equation("i,j")},
      {{{f32, {5, 4}}}, equation("ij->j")},
      {{{f32, {4, 4}}}, equation("ii")},
      {{{f32, {3, 4, 4}}}, equation("bii->bi")},
      {{{f32, {3, 4}}, {f32, {4, 5}}, {f32, {5, 2}}}, equation("ij,jk,kl->il")},
      {{{f32, {2, 3, 4, 5}}, {f32, {2, 3, 5, 6}}}, equation("...ij,...jk->...ik")},
      {{{f32, {2, 3, 4}}, {f32, {3}}}, equation("bhd,h->bhd")},
      {{{f32, {2, 3}}, {f32, {2, 3}}}, equation("ij,ij->")},
      {{{f32, {2, 3, 4}}, {f32, {5, 3, 4}}}, equation("bhd,ohd->bo")},
      {{{f16, {4, 16}}, {f16, {8, 16}}}, equation("ik,jk->ij")},
      {{{f32, {}}, {f32, {3}}}, equation(",i->i")},
      {{{f32, {3, 3}}, {f32, {3, 4}}}, equation("ii,ij->j")},
      {{{f32, {2, 3, 4}}, {f32, {4}}}, equation("...i,i")},
      {{{f32, {2, 3, 4}}}, equation("...i->i...")},
      {{{i32, {5, 7}}, {i32, {7, 3}}}, equation("ij,jk->ik"), -2, 2, -9, 9},
      {{{i8, {5, 4}}}, equation("ij->j"), -2, 2, -100, 100},
  };
  return op;
}

}  // namespace tcc::ir::ops::op_einsum
