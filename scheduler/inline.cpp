#include "scheduler/inline.h"

#include <algorithm>

#include "ir/sizes.h"
#include "support/error.h"

namespace tcc::sched {

using ir::OpKind;
using ir::ReduceKind;

SymInt indirect_index(const Expr& value, const SymInt& extent) {
  Expr index = ir::cast(value, DType::i64);
  // Numbers of elements are known to be within the extent or not, from either end.
  const bool is_known = index->kind == ir::ExprNode::Kind::index && extent.is_const();
  const ir::Interval range = is_known ? index->index.range() : ir::Interval{INT64_MIN, INT64_MAX};
  const int64_t end = is_known ? extent.value() : 0;
  if (range.lo >= 0 && range.hi < end) return index->index;
  Expr zero = ir::constant_int(DType::i64, 0), size = ir::index_value(extent);
  Expr wrapped = ir::select(ir::call(ir::Fn::lt, {index, zero}), ir::add(index, size), index);
  if (range.lo >= -end && range.hi < end) return SymInt::indirect("at", wrapped, {0, end - 1});
  Expr last = ir::index_value(extent - 1);
  Expr clamped = ir::call(ir::Fn::minimum, {ir::call(ir::Fn::maximum, {wrapped, zero}), last});
  return SymInt::indirect("at", clamped, {0, extent.range().hi - 1});
}

namespace {

// Whether the index is computed, into a value that has no elements at some sizes of open dims: no
// place in it is safe to read then.
bool may_miss(std::span<const SymInt> index, const SymInt& elements) {
  if (elements.is_const() || elements.range().lo > 0) return false;
  bool is_computed = false;
  for (const SymInt& i : index)
    i.visit_atoms(
        [&](const ir::AtomPtr& atom) { is_computed |= atom->kind == ir::Atom::Kind::indirect; });
  return is_computed;
}

}  // namespace

// An op's element function sees this while its node is inlined.
class NodeContext : public ir::ElementContext {
 public:
  NodeContext(Inliner& inliner, const ir::Node& node) : inliner_(inliner), node_(node) {}
  const ir::Node& node() const override { return node_; }
  Expr operand(int k, std::span<const SymInt> index) override {
    return inliner_.value_at(node_.inputs[static_cast<size_t>(k)], index);
  }
  SymInt new_axis(const SymInt& extent) override { return inliner_.new_axis(extent); }
  SymInt indirect(const Expr& value, const SymInt& extent) override {
    return indirect_index(value, extent);
  }

 private:
  Inliner& inliner_;
  const ir::Node& node_;
};

void Inliner::bind(const ir::Value* value, Element element) {
  bound_[value] = std::move(element);
  memo_.clear();  // what was inlined through the value before is no longer what it means
}

SymInt Inliner::new_axis(const SymInt& extent) {
  return SymInt::axis("r", extent, ir::AxisRole::reduction);
}

size_t Inliner::PlaceHash::operator()(const Place& place) const {
  size_t hash = std::hash<const ir::Value*>()(place.value);
  for (const SymInt& i : place.index) hash = hash * 31 + ir::hash_value(i);
  return hash;
}

Expr Inliner::value_at(const ir::Value* value, std::span<const SymInt> index) {
  TCC_CHECK(index.size() == value->shape().size(), "index of rank ", index.size(), " into ",
            value->name, " of rank ", value->shape().size());
  Place place{value, {index.begin(), index.end()}};
  if (auto found = memo_.find(place); found != memo_.end()) return found->second;
  Expr result;
  if (auto bound = bound_.find(value); bound != bound_.end()) {
    result = bound->second(index);
    if (!result) {
      TCC_CHECK(lacking_ == Lacking::is_noted, "an element of ", value->name,
                " is asked for that the kernel has not computed at that place");
      if (!asked_elsewhere_) asked_elsewhere_ = value;
      result = zero_of(compute_dtype(value->dtype()));
    }
  } else if (int slot = region_.slot_of_input(value); slot >= 0) {
    result = ir::load(slot, value->dtype(), region_.layout(value).offset(index));
    if (const SymInt elements = ir::elements_of(value); may_miss(index, elements))
      result = ir::select(ir::call(ir::Fn::ne, {ir::index_value(elements), ir::index_value(0)}),
                          result, zero_of(result->dtype));
  } else if (value->is_constant()) {
    auto splat = value->data->splat();
    TCC_CHECK(splat.has_value(), "constant ", value->name, " is neither an input nor a scalar");
    DType dtype = compute_dtype(value->dtype());
    result = is_float(dtype) ? ir::constant(dtype, *splat)
                             : ir::constant_int(dtype, static_cast<int64_t>(*splat));
  } else {
    TCC_CHECK(region_.contains(value), value->name, " is neither computed nor read in this region");
    result = inline_node(value->producer, index);
    if (region_.strict_rounding && is_low_precision(value->dtype()))
      result = ir::cast(ir::cast(result, value->dtype()), DType::f32);
  }
  TCC_CHECK(result->dtype == compute_dtype(value->dtype()), value->name, " is ",
            name(value->dtype()), " but its element is computed as ", name(result->dtype));
  return memo_[std::move(place)] = result;
}

Expr Inliner::inline_node(const ir::Node* node, std::span<const SymInt> index) {
  switch (node->op->kind) {
    case OpKind::reduce: return inline_reduction(node, index);
    case OpKind::contraction: return inline_contraction(node, index);
    case OpKind::pointwise:
    case OpKind::view: {
      NodeContext context(*this, *node);
      return node->op->element(context, index);
    }
    case OpKind::scan:
    case OpKind::sort:
    case OpKind::suppress:
    case OpKind::composite:
    case OpKind::external: break;
  }
  throw InternalError(str(node->op_name(), " cannot be inlined"));
}

Expr Inliner::inline_reduction(const ir::Node* node, std::span<const SymInt> index) {
  ReductionDims dims = reduction_dims(node);
  std::vector<SymInt> axes, kept = kept_index(node, dims, index);
  for (const SymInt& extent : dims.reduced_extents) axes.push_back(new_axis(extent));
  Expr body = value_at(node->inputs[0], join_index(dims, kept, axes));
  ReduceKind kind = *node->op->reduction;
  DType dtype = compute_dtype(node->outputs[0]->dtype());
  if (!ir::is_arg(kind)) body = ir::cast(body, dtype);
  Expr result = ir::reduce(kind, axes, body);
  return ir::cast(result, dtype);
}

ContractionIndex contraction_index(const ir::Node* node, const ir::Contraction& c,
                                   std::span<const SymInt> index) {
  // The output index is a permutation of the batch, m and n axes for every contraction that we
  // have: find which axis each dim is by asking for the map of fresh axes.
  const auto fresh = [](const std::vector<SymInt>& extents) {
    std::vector<SymInt> axes;
    for (const SymInt& e : extents) axes.push_back(SymInt::axis("r", e, ir::AxisRole::reduction));
    return axes;
  };
  ContractionIndex own = {fresh(c.batch), fresh(c.m), fresh(c.n)};
  const std::vector<SymInt> out = c.out(own.batch, own.m, own.n);
  auto solve = [&](std::vector<SymInt>& axes) {
    for (SymInt& axis : axes) {
      bool found = axis.is_const();  // an extent of 1
      for (size_t d = 0; d < out.size() && !found; ++d) {
        if (out[d] == axis) {
          axis = index[d];
          found = true;
        }
      }
      if (found) continue;
      // Several axes in one dim (grouped channels): axis = (dim - constant part) by division.
      for (size_t d = 0; d < out.size() && !found; ++d) {
        if (!axis.as_atom() || !out[d].uses(axis.as_atom())) continue;
        const SymInt step = out[d].substitute(axis, 1) - out[d].substitute(axis, 0);
        if (step.range().hi < 1) continue;
        axis = mod(floordiv(index[d], step), ir::extent_of(axis));
        found = true;
      }
      TCC_CHECK(found, "an axis of ", node->op_name(), " does not appear in its output");
    }
  };
  solve(own.batch);
  solve(own.m);
  solve(own.n);
  return own;
}

Expr Inliner::inline_contraction(const ir::Node* node, std::span<const SymInt> index) {
  const ir::Contraction c = node->op->contraction(*node);
  const auto [batch, m, n] = contraction_index(node, c, index);
  std::vector<SymInt> k;
  for (const SymInt& e : c.k) k.push_back(new_axis(e));
  ir::Access a = c.a(batch, m, k), b = c.b(batch, k, n);
  DType dtype = compute_dtype(node->outputs[0]->dtype());
  Expr zero = zero_of(dtype);
  auto fetch = [&](const ir::Access& access, int operand) {
    Expr value = value_at(node->inputs[static_cast<size_t>(operand)], access.index);
    value = ir::cast(value, dtype);
    return access.valid ? ir::select(access.valid, value, zero) : value;
  };
  return ir::reduce(ReduceKind::sum, k, ir::mul(fetch(a, c.a_operand), fetch(b, c.b_operand)));
}

ReductionDims reduction_dims(const ir::Node* node) {
  const ir::Shape& shape = node->inputs[0]->shape();
  std::vector<int64_t> listed = node->ints("dim");
  int rank = static_cast<int>(shape.size());
  ReductionDims dims;
  for (int d = 0; d < rank; ++d) {
    bool reduced = listed.empty() || std::any_of(listed.begin(), listed.end(), [&](int64_t l) {
                     return (l < 0 ? l + rank : l) == d;
                   });
    (reduced ? dims.reduced : dims.kept).push_back(d);
    (reduced ? dims.reduced_extents : dims.kept_extents).push_back(shape[static_cast<size_t>(d)]);
  }
  return dims;
}

std::vector<SymInt> join_index(const ReductionDims& dims, std::span<const SymInt> kept,
                               std::span<const SymInt> reduced) {
  std::vector<SymInt> index(dims.kept.size() + dims.reduced.size());
  for (size_t i = 0; i < dims.kept.size(); ++i) index[static_cast<size_t>(dims.kept[i])] = kept[i];
  for (size_t i = 0; i < dims.reduced.size(); ++i)
    index[static_cast<size_t>(dims.reduced[i])] = reduced[i];
  return index;
}

std::vector<SymInt> kept_index(const ir::Node* node, const ReductionDims& dims,
                               std::span<const SymInt> index) {
  std::vector<SymInt> kept;
  bool keepdim = node->has_attr("keepdim") && node->attr<bool>("keepdim");
  for (const int dim : dims.kept) {
    const auto place =
        keepdim ? dim : std::ranges::count_if(dims.kept, [&](int other) { return other < dim; });
    kept.push_back(index[static_cast<size_t>(place)]);
  }
  return kept;
}

std::vector<SymInt> StoredThrough::output_index(std::span<const SymInt> base_index) const {
  std::vector<SymInt> index(base_index.begin(), base_index.end());
  for (const ir::Node* view : views) index = view->op->inverse(*view, index);
  return index;
}

StoredThrough peel_views(const Region& region, const ir::Value* output, const ir::Value* stop) {
  StoredThrough result{output, {}};
  while (result.base != stop && region.contains(result.base)) {
    const ir::Node* node = result.base->producer;
    if (node->op->kind != OpKind::view || !node->op->inverse) break;
    result.views.insert(result.views.begin(), node);
    result.base = node->inputs[0];
  }
  return result;
}

}  // namespace tcc::sched
