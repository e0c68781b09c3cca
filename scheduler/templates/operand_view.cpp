#include "scheduler/templates/operand_view.h"

#include <algorithm>
#include <map>

#include "scheduler/templates/common.h"

namespace tcc::sched {
namespace {

struct Axes {
  std::vector<SymInt> atoms;  // one per extent, outermost first
  SymInt flat;
};

Axes make_axes(const std::string& stem, const FlatAxes& list) {
  Axes axes;
  for (size_t i = 0; i < list.extents.size(); ++i) {
    axes.atoms.push_back(SymInt::axis(stem + std::to_string(i), list.extents[i]));
    axes.flat = axes.flat * list.extents[i] + axes.atoms.back();
  }
  return axes;
}

// The stride of the flat axis, where the single ones compose; 0 for an axis of extent 1.
std::optional<int64_t> flat_stride(const SymInt& offset, const Axes& axes, const FlatAxes& list) {
  int64_t stride = 0, expected = 0;
  for (size_t i = list.extents.size(); i-- > 0;) {
    const int64_t own = coefficient(offset, axes.atoms[i]);
    if (own < 0) return std::nullopt;
    if (i + 1 == list.extents.size())
      stride = own;
    else if (own != expected)
      return std::nullopt;
    expected = own * list.extents[i].value();
  }
  return stride;
}

// The place of a residual's element, where it is a matrix of the result's shape.
std::optional<OperandView> residual_view(const Region& region, const ContractionPlan& plan,
                                         const Axes& batch, const Axes& m, const Axes& n,
                                         const Expr& load) {
  constexpr int64_t kBytes = 16;  // of a copy's rows, at least
  if (load->stored != DType::bf16 && load->stored != DType::f16 && load->stored != DType::f32)
    return std::nullopt;
  const auto m_stride = flat_stride(load->index, m, plan.m),
             n_stride = flat_stride(load->index, n, plan.n);
  if (!m_stride || !n_stride || *m_stride == 0 || *n_stride != 1) return std::nullopt;
  OperandView view;
  view.buffer = load->buffer;
  view.dtype = load->stored;
  view.free_stride = *m_stride;
  view.k_stride = 1;
  SymInt rest = load->index - m.flat * *m_stride - n.flat;
  int64_t last = (plan.m.fixed_size() - 1) * *m_stride + plan.n.fixed_size() - 1;
  std::vector<int64_t> extents, strides;
  for (size_t i = 0; i < batch.atoms.size(); ++i) {
    extents.push_back(plan.batch.extents[i].value());
    strides.push_back(coefficient(load->index, batch.atoms[i]));
    if (strides.back() < 0) return std::nullopt;
    rest = rest - batch.atoms[i] * strides.back();
    last += (extents.back() - 1) * strides.back();
  }
  // Elements that are read under a condition may lie elsewhere.
  const SymInt& elements = region.layout(region.inputs[static_cast<size_t>(view.buffer)]).elements;
  if (!rest.is_const() || rest.value() < 0 || rest.value() + last >= elements.value())
    return std::nullopt;
  view.offset = rest.value();
  view.batch = batch_axes(extents, strides);
  constexpr size_t kMostBatchAxes = 3;
  if (!view.aligned(kBytes, view.free_stride) || view.batch.size() > kMostBatchAxes ||
      plan.n.fixed_size() * size_bytes(view.dtype) % kBytes != 0)
    return std::nullopt;
  return view;
}

bool is_sum_of(const SymInt& offset, size_t atoms) {
  size_t linear = 0;
  for (const auto& term : offset.terms()) {
    if (term.atoms.size() != 1 || term.atoms[0]->kind != ir::Atom::Kind::axis) return false;
    ++linear;
  }
  return linear <= atoms;
}

}  // namespace

bool OperandView::aligned(int64_t bytes, int64_t other_stride) const {
  const int64_t elements = bytes / size_bytes(dtype);
  if (offset % elements != 0 || other_stride % elements != 0) return false;
  for (const BatchAxis& axis : batch)
    if (axis.stride % elements != 0) return false;
  return true;
}

int64_t OperandView::alignment(int64_t other_stride) const {
  for (int64_t bytes = 16; bytes > size_bytes(dtype); bytes /= 2)
    if (aligned(bytes, other_stride)) return bytes;
  return size_bytes(dtype);
}

SymInt coordinate(const OperandView::BatchAxis& axis, const SymInt& batch) {
  return mod(floordiv(batch, axis.inside), axis.extent);
}

SymInt batch_offset(const OperandView& view, const SymInt& batch) {
  SymInt offset = view.offset;
  for (const OperandView::BatchAxis& axis : view.batch)
    offset = offset + coordinate(axis, batch) * axis.stride;
  return offset;
}

exec::TensorMap tiled_map(const OperandView& view, std::string name,
                          const std::array<MapDim, 2>& matrix) {
  const int64_t element = size_bytes(view.dtype);
  exec::TensorMap map;
  map.name = std::move(name);
  map.argument = view.buffer;
  map.dtype = view.dtype;
  map.offset = view.offset;
  const auto add = [&](const MapDim& dim) {
    if (!map.dims.empty()) map.strides.push_back(std::max<int64_t>(16, dim.stride * element));
    map.dims.push_back(dim.extent);
    map.box.push_back(static_cast<int>(dim.box));
  };
  for (const MapDim& dim : matrix) add(dim);
  for (size_t i = view.batch.size(); i-- > 0;) add({view.batch[i].extent, view.batch[i].stride, 1});
  return map;
}

std::vector<OperandView::BatchAxis> batch_axes(std::span<const int64_t> extents,
                                               std::span<const int64_t> strides) {
  std::vector<OperandView::BatchAxis> axes;
  int64_t inside = 1;  // a dim of 0 has no batch, and divides nothing
  for (const int64_t extent : extents) inside *= std::max<int64_t>(1, extent);
  for (size_t i = 0; i < extents.size(); ++i) {
    inside /= std::max<int64_t>(1, extents[i]);
    if (strides[i] == 0) continue;
    if (!axes.empty()) {
      OperandView::BatchAxis& outer = axes.back();
      if (outer.stride == strides[i] * extents[i] && outer.inside == inside * extents[i]) {
        outer = {outer.extent * extents[i], strides[i], inside};
        continue;
      }
    }
    axes.push_back({extents[i], strides[i], inside});
  }
  return axes;
}

std::vector<OperandView> residual_views(const Region& region, const ContractionPlan& plan,
                                        size_t most) {
  const Axes batch = make_axes("b", plan.batch), m = make_axes("m", plan.m),
             n = make_axes("n", plan.n);
  Inliner inliner(region);
  const Expr sum = ir::read(ir::new_variable("acc", plan.accumulator));
  std::map<int, std::vector<Expr>> loads;  // by buffer
  for (const Stored& stored :
       stored_elements(inliner, region, plan, sum, batch.flat, m.flat, n.flat))
    ir::visit(stored.value, [&](const Expr& e) {
      if (e->kind != ir::ExprNode::Kind::load) return;
      std::vector<Expr>& same = loads[e->buffer];
      if (std::ranges::none_of(same, [&](const Expr& l) { return ir::compare(l, e) == 0; }))
        same.push_back(e);
    });
  std::vector<OperandView> views;
  for (const auto& [buffer, own] : loads) {
    if (own.size() != 1 || views.size() == most) continue;
    if (auto view = residual_view(region, plan, batch, m, n, own.front()))
      views.push_back(*std::move(view));
  }
  return views;
}

std::optional<OperandView> operand_view(const Region& region, const ContractionPlan& plan,
                                        bool of_a) {
  const FlatAxes& free_list = of_a ? plan.m : plan.n;
  const Axes batch = make_axes("b", plan.batch), free = make_axes("f", free_list),
             k = make_axes("k", plan.k);
  Inliner inliner(region);
  Expr value = operand_element(inliner, region, plan, of_a, batch.flat, free.flat, k.flat);
  if (value->kind == ir::ExprNode::Kind::cast && is_integer(plan.accumulator) &&
      value->args[0]->kind == ir::ExprNode::Kind::load && is_byte(value->args[0]->stored))
    value = value->args[0];
  if (value->kind != ir::ExprNode::Kind::load) return std::nullopt;
  const SymInt& offset = value->index;
  if (!is_sum_of(offset, batch.atoms.size() + free.atoms.size() + k.atoms.size()))
    return std::nullopt;
  const auto free_stride = flat_stride(offset, free, free_list),
             k_stride = flat_stride(offset, k, plan.k);
  if (!free_stride || !k_stride) return std::nullopt;

  OperandView view;
  view.buffer = value->buffer;
  view.dtype = value->stored;
  view.offset = offset.constant();
  view.free_stride = *free_stride;
  view.k_stride = *k_stride;
  std::vector<int64_t> extents, strides;
  for (size_t i = 0; i < batch.atoms.size(); ++i) {
    extents.push_back(plan.batch.extents[i].value());
    strides.push_back(coefficient(offset, batch.atoms[i]));
    if (strides.back() < 0) return std::nullopt;
  }
  view.batch = batch_axes(extents, strides);
  return view;
}

}  // namespace tcc::sched
