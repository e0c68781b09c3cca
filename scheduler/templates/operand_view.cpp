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
std::optional<SymInt> flat_stride(const SymInt& offset, const Axes& axes, const FlatAxes& list) {
  SymInt stride = 0, expected = 0;
  for (size_t i = list.extents.size(); i-- > 0;) {
    const std::optional<SymInt> own = stride_along(offset, axes.atoms[i]);
    if (!own) return std::nullopt;
    if (i + 1 == list.extents.size())
      stride = *own;
    else if (!(*own == expected))
      return std::nullopt;
    expected = *own * list.extents[i];
  }
  return stride;
}

// The strides of the batch's axes, where the offset has them.
std::optional<std::vector<SymInt>> batch_strides(const SymInt& offset, const Axes& batch) {
  std::vector<SymInt> strides;
  for (const SymInt& axis : batch.atoms) {
    std::optional<SymInt> own = stride_along(offset, axis);
    if (!own) return std::nullopt;
    strides.push_back(*std::move(own));
  }
  return strides;
}

// Returns an offset without the parts that move with the axes.
SymInt without(SymInt offset, const Axes& axes, std::span<const SymInt> strides) {
  for (size_t i = 0; i < strides.size(); ++i) offset = offset - axes.atoms[i] * strides[i];
  return offset;
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
  const auto strides = batch_strides(load->index, batch);
  if (!m_stride || !n_stride || !strides || m_stride->is(0) || !n_stride->is(1))
    return std::nullopt;
  OperandView view;
  view.buffer = load->buffer;
  view.dtype = load->stored;
  view.free_stride = *m_stride;
  view.k_stride = 1;
  view.offset = without(load->index - m.flat * *m_stride - n.flat, batch, *strides);
  if (!is_of_sizes(view.offset) || view.offset.range().lo < 0) return std::nullopt;
  // Elements that are read under a condition may lie elsewhere.
  SymInt last = view.offset + (plan.m.size() - 1) * *m_stride + plan.n.size() - 1;
  for (size_t i = 0; i < strides->size(); ++i)
    last = last + (plan.batch.extents[i] - 1) * (*strides)[i];
  const SymInt& elements = region.layout(region.inputs[static_cast<size_t>(view.buffer)]).elements;
  if ((elements - last).range().lo < 1) return std::nullopt;
  view.batch = batch_axes(plan.batch.extents, *strides);
  constexpr size_t kMostBatchAxes = 3;
  if (!view.aligned(kBytes, view.free_stride) || view.batch.size() > kMostBatchAxes ||
      !is_multiple(plan.n.size(), kBytes / size_bytes(view.dtype)))
    return std::nullopt;
  return view;
}

}  // namespace

bool is_of_sizes(const SymInt& value) {
  bool found = false;
  value.visit_atoms([&](const ir::AtomPtr& atom) {
    found = found || atom->kind == ir::Atom::Kind::axis || atom->kind == ir::Atom::Kind::indirect;
  });
  return !found;
}

std::optional<SymInt> stride_along(const SymInt& offset, const SymInt& axis) {
  if (axis.is_const()) return 0;
  const SymInt stride = offset.substitute(axis, 1) - offset.substitute(axis, 0);
  if (!is_of_sizes(stride) || stride.range().lo < 0) return std::nullopt;
  return stride;
}

bool is_multiple(const SymInt& value, int64_t power_of_two) {
  return value.known_power_of_two(power_of_two) == power_of_two;
}

bool OperandView::aligned(int64_t bytes, const SymInt& other_stride) const {
  const int64_t elements = bytes / size_bytes(dtype);
  return is_multiple(offset, elements) && is_multiple(other_stride, elements) &&
         std::ranges::all_of(
             batch, [&](const BatchAxis& axis) { return is_multiple(axis.stride, elements); });
}

int64_t OperandView::alignment(const SymInt& other_stride) const {
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
    if (!map.dims.empty()) map.strides.push_back(ir::max(16, dim.stride * element));
    map.dims.push_back(dim.extent);
    map.box.push_back(static_cast<int>(dim.box));
  };
  for (const MapDim& dim : matrix) add(dim);
  for (size_t i = view.batch.size(); i-- > 0;) add({view.batch[i].extent, view.batch[i].stride, 1});
  return map;
}

std::vector<OperandView::BatchAxis> batch_axes(std::span<const SymInt> extents,
                                               std::span<const SymInt> strides) {
  std::vector<OperandView::BatchAxis> axes;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (strides[i].is(0)) continue;
    SymInt inside = 1;  // a dim of 0 has no batch, and divides nothing
    for (const SymInt& extent : extents.subspan(i + 1))
      if (!extent.is(0)) inside = inside * extent;
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
  const auto free_stride = flat_stride(offset, free, free_list),
             k_stride = flat_stride(offset, k, plan.k);
  const auto strides = batch_strides(offset, batch);
  if (!free_stride || !k_stride || !strides) return std::nullopt;

  OperandView view;
  view.buffer = value->buffer;
  view.dtype = value->stored;
  view.offset = without(offset - free.flat * *free_stride - k.flat * *k_stride, batch, *strides);
  if (!is_of_sizes(view.offset) || view.offset.range().lo < 0) return std::nullopt;
  view.free_stride = *free_stride;
  view.k_stride = *k_stride;
  view.batch = batch_axes(plan.batch.extents, *strides);
  return view;
}

}  // namespace tcc::sched
