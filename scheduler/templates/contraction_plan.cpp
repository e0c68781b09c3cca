#include "scheduler/templates/contraction_plan.h"

#include <algorithm>
#include <numeric>

#include "scheduler/templates/common.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

struct ElementMismatch {};

std::vector<int64_t> ints_of(const std::vector<SymInt>& values) {
  std::vector<int64_t> out;
  for (const SymInt& value : values) out.push_back(value.value());
  return out;
}

std::vector<SymInt> named_axes(std::string_view stem, const std::vector<SymInt>& extents) {
  std::vector<SymInt> axes;
  for (size_t i = 0; i < extents.size(); ++i)
    axes.push_back(SymInt::axis(std::string(stem) + std::to_string(i), extents[i]));
  return axes;
}

bool uses_axis(const ir::Access& access, const SymInt& axis) {
  if (axis.is_const()) return false;
  return std::any_of(access.index.begin(), access.index.end(),
                     [&](const SymInt& i) { return i.uses(axis.as_atom()); });
}

// The load of the largest buffer in `e`, or null.
Expr main_load(const Region& region, const Expr& e) {
  Expr best;
  int64_t elements = -1;
  ir::visit(e, [&](const Expr& node) {
    if (node->kind != ir::ExprNode::Kind::load) return;
    int64_t n = region.layout(region.inputs[static_cast<size_t>(node->buffer)]).elements;
    if (n <= elements) return;
    elements = n;
    best = node;
  });
  return best;
}

// Extents of `axes` ordered by falling stride in `offset`; axes of extent 1 are left out.
FlatAxes flatten(const std::vector<SymInt>& axes, const std::vector<SymInt>& extents,
                 const SymInt& offset) {
  FlatAxes flat;
  std::vector<std::pair<int64_t, size_t>> order;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (extents[i].is(1)) continue;
    int64_t stride = coefficient(offset, axes[i]);
    order.push_back({stride <= 0 ? int64_t{1} << 50 : stride, i});
  }
  std::stable_sort(order.begin(), order.end(), [](auto& a, auto& b) { return a.first > b.first; });
  for (auto& [stride, i] : order) {
    flat.extents.push_back(extents[i].value());
    flat.position.push_back(i);
  }
  return flat;
}

std::vector<SymInt> unflatten(const FlatAxes& flat, size_t count, const SymInt& index) {
  std::vector<SymInt> axes(count, SymInt(0));
  std::vector<SymInt> parts = delinearize_ints(index, flat.extents);
  for (size_t i = 0; i < parts.size(); ++i) axes[flat.position[i]] = parts[i];
  return axes;
}

// The widest vector (at most 16 bytes) that divides the innermost extent and whose reads are
// contiguous and aligned.
int64_t vector_along(const SymInt& offset, const SymInt& axis, int64_t extent, int bytes) {
  if (coefficient(offset, axis) != 1) return 1;
  for (int64_t width = 16 / bytes; width > 1; width /= 2)
    if (extent % width == 0 && (offset - axis).divisible_by(width)) return width;
  return 1;
}

}  // namespace

DType accumulator_dtype(DType dtype) {
  if (is_float(dtype)) return compute_dtype(dtype);
  if (size_bytes(dtype) == 8) return dtype;
  return info(dtype).is_signed ? DType::i32 : DType::u32;
}

int64_t FlatAxes::size() const {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

double ContractionPlan::flops() const {
  return 2.0 * static_cast<double>(batch.size()) * static_cast<double>(m.size()) *
         static_cast<double>(n.size()) * static_cast<double>(k.size());
}

ContractionPlan::Axes ContractionPlan::axes(const SymInt& batch_index, const SymInt& m_index,
                                            const SymInt& n_index, const SymInt& k_index) const {
  Axes result;
  const FlatAxes &op_m = swapped ? n : m, &op_n = swapped ? m : n;
  const SymInt &of_m = swapped ? n_index : m_index, &of_n = swapped ? m_index : n_index;
  std::vector<SymInt> kept = unflatten(batch, batch_kept.size(), batch_index);
  std::vector<SymInt> wide_m = unflatten(op_m, batch_as_m.size() + op.m.size(), of_m);
  std::vector<SymInt> wide_n = unflatten(op_n, batch_as_n.size() + op.n.size(), of_n);
  result.batch.resize(op.batch.size());
  for (size_t i = 0; i < batch_kept.size(); ++i)
    result.batch[static_cast<size_t>(batch_kept[i])] = kept[i];
  for (size_t i = 0; i < batch_as_m.size(); ++i)
    result.batch[static_cast<size_t>(batch_as_m[i])] = wide_m[i];
  for (size_t i = 0; i < batch_as_n.size(); ++i)
    result.batch[static_cast<size_t>(batch_as_n[i])] = wide_n[i];
  result.m.assign(wide_m.begin() + static_cast<long>(batch_as_m.size()), wide_m.end());
  result.n.assign(wide_n.begin() + static_cast<long>(batch_as_n.size()), wide_n.end());
  result.k = unflatten(k, op.k.size(), k_index);
  return result;
}

Expr operand_element(Inliner& inliner, const Region& region, const ContractionPlan& plan, bool of_a,
                     const SymInt& batch, const SymInt& free, const SymInt& k) {
  bool first = of_a != plan.swapped;  // the op's own A
  ContractionPlan::Axes axes = of_a ? plan.axes(batch, free, 0, k) : plan.axes(batch, 0, free, k);
  ir::Access access =
      first ? plan.op.a(axes.batch, axes.m, axes.k) : plan.op.b(axes.batch, axes.k, axes.n);
  int operand = first ? plan.op.a_operand : plan.op.b_operand;
  Expr value = inliner.value_at(region.anchor->inputs[static_cast<size_t>(operand)], access.index);
  value = ir::cast(value, plan.accumulator);
  return access.valid ? ir::select(access.valid, value, zero_of(plan.accumulator)) : value;
}

std::vector<Stored> stored_elements(Inliner& inliner, const Region& region,
                                    const ContractionPlan& plan, const Expr& accumulator,
                                    const SymInt& batch, const SymInt& m, const SymInt& n) {
  const ir::Value* result = region.anchor->outputs[0];
  ContractionPlan::Axes axes = plan.axes(batch, m, n, 0);
  std::vector<SymInt> at = plan.op.out(axes.batch, axes.m, axes.n);
  inliner.bind(result, [=, &region](std::span<const SymInt> index) -> Expr {
    for (size_t d = 0; d < at.size(); ++d)
      if (!(index[d] == at[d])) throw ElementMismatch();
    DType dtype = compute_dtype(result->dtype());
    if (region.strict_rounding && is_low_precision(result->dtype()))
      return ir::cast(ir::cast(accumulator, result->dtype()), dtype);
    return ir::cast(accumulator, dtype);
  });
  std::vector<SymInt> domain = result->shape();
  std::vector<Stored> stored;
  for (const ir::Value* output : region.outputs) {
    StoredThrough through = peel_views(region, output, result);
    std::vector<SymInt> index = at;
    if (through.base->shape() != domain)
      index = delinearize_ints(ir::linearize(at, domain), const_shape(*through.base));
    Expr value = inliner.value_at(through.base, index);
    stored.push_back({region.slot_of_output(output),
                      region.layout(output).offset(through.output_index(index)), value});
  }
  return stored;
}

std::optional<ContractionPlan> plan_contraction(const Region& region, int64_t widest) {
  const ir::Node* node = region.anchor;
  if (!node || node->op->kind != ir::OpKind::contraction) return std::nullopt;
  const ir::Value* result = node->outputs[0];
  for (const ir::Node* other : region.nodes)
    if (other != node && other->op->kind != ir::OpKind::pointwise &&
        other->op->kind != ir::OpKind::view)
      return std::nullopt;
  for (const ir::Value* output : region.outputs)
    if (numel(output) != numel(result)) return std::nullopt;

  ContractionPlan plan;
  plan.op = node->op->contraction(*node);
  plan.accumulator = accumulator_dtype(result->dtype());
  if (ir::product(plan.op.k).is(0)) return std::nullopt;  // zeros, and operands without memory
  std::vector<SymInt> batch = named_axes("b", plan.op.batch), m = named_axes("m", plan.op.m),
                      n = named_axes("n", plan.op.n), k = named_axes("k", plan.op.k);
  ir::Access a = plan.op.a(batch, m, k), b = plan.op.b(batch, k, n);
  for (int i = 0; i < static_cast<int>(batch.size()); ++i) {
    const SymInt& axis = batch[static_cast<size_t>(i)];
    if (!uses_axis(b, axis))
      plan.batch_as_m.push_back(i);
    else if (!uses_axis(a, axis))
      plan.batch_as_n.push_back(i);
    else
      plan.batch_kept.push_back(i);
  }
  auto with_batch = [&](const std::vector<int>& moved, const std::vector<SymInt>& from_batch,
                        const std::vector<SymInt>& own) {
    std::vector<SymInt> out;
    for (int i : moved) out.push_back(from_batch[static_cast<size_t>(i)]);
    out.insert(out.end(), own.begin(), own.end());
    return out;
  };
  std::vector<SymInt> wide_m = with_batch(plan.batch_as_m, batch, m),
                      wide_n = with_batch(plan.batch_as_n, batch, n);
  std::vector<SymInt> m_extents = with_batch(plan.batch_as_m, plan.op.batch, plan.op.m);
  std::vector<SymInt> n_extents = with_batch(plan.batch_as_n, plan.op.batch, plan.op.n);
  std::vector<SymInt> kept, kept_extents;
  for (int i : plan.batch_kept) {
    kept.push_back(batch[static_cast<size_t>(i)]);
    kept_extents.push_back(plan.op.batch[static_cast<size_t>(i)]);
  }

  try {
    // Where the main operands and the first output lie in memory decides the order of the flat
    // axes.
    Inliner inliner(region);
    Expr of_a = inliner.value_at(node->inputs[static_cast<size_t>(plan.op.a_operand)], a.index);
    Expr of_b = inliner.value_at(node->inputs[static_cast<size_t>(plan.op.b_operand)], b.index);
    Expr load_a = main_load(region, of_a), load_b = main_load(region, of_b);
    // The output's offset as a function of the op's axes: identity flattening first.
    auto all = [](const std::vector<SymInt>& extents) {
      FlatAxes flat;
      flat.extents = ints_of(extents);
      flat.position.resize(extents.size());
      std::iota(flat.position.begin(), flat.position.end(), 0);
      return flat;
    };
    plan.batch = all(kept_extents);
    plan.m = all(m_extents);
    plan.n = all(n_extents);
    plan.k = all(plan.op.k);
    std::vector<SymInt> at = plan.op.out(batch, m, n);
    const ir::Value* output = region.outputs[0];
    StoredThrough through = peel_views(region, output, result);
    std::vector<SymInt> index = at;
    if (through.base->shape() != result->shape())
      index = delinearize_ints(ir::linearize(at, result->shape()), const_shape(*through.base));
    SymInt offset = region.layout(output).offset(through.output_index(index));
    SymInt a_offset = load_a ? load_a->index : SymInt(0),
           b_offset = load_b ? load_b->index : SymInt(0);
    plan.batch = flatten(kept, kept_extents, offset);
    FlatAxes flat_m = flatten(wide_m, m_extents, offset),
             flat_n = flatten(wide_n, n_extents, offset);
    plan.k = flatten(k, plan.op.k, a_offset);
    // Columns are what is contiguous in the output.
    auto innermost = [&](const FlatAxes& flat, const std::vector<SymInt>& axes) -> int64_t {
      return flat.position.empty() ? 0 : coefficient(offset, axes[flat.position.back()]);
    };
    plan.swapped = innermost(flat_n, wide_n) != 1 && innermost(flat_m, wide_m) == 1;
    plan.m = plan.swapped ? flat_n : flat_m;
    plan.n = plan.swapped ? flat_m : flat_n;

    // Vector reads: along k where memory runs that way, else along the operand's own axis.
    auto choose = [&](ContractionPlan::Operand& operand, bool is_a, const FlatAxes& free) {
      operand.input = (is_a != plan.swapped) ? plan.op.a_operand : plan.op.b_operand;
      SymInt flat_b = SymInt::axis("fb", plan.batch.size()),
             flat_f = SymInt::axis("ff", free.size()), flat_k = SymInt::axis("fk", plan.k.size());
      Inliner own(region);
      int64_t extent_k = plan.k.extents.empty() ? 1 : plan.k.extents.back();
      int64_t extent_f = free.extents.empty() ? 1 : free.extents.back();
      auto try_along = [&](bool along_k) -> int64_t {
        int64_t extent = along_k ? extent_k : extent_f;
        int64_t total = along_k ? plan.k.size() : free.size();
        for (int64_t width = along_k ? widest : 8; width > 1; width /= 2) {
          if (extent % width != 0) continue;
          SymInt group = SymInt::axis("g", total / width), lane = SymInt::axis("v", width);
          SymInt along = group * width + lane;
          Expr value = operand_element(own, region, plan, is_a, flat_b, along_k ? flat_f : along,
                                       along_k ? along : flat_k);
          Expr load = main_load(region, value);
          if (!load) return 1;
          if (width * size_bytes(load->stored) > 16) continue;
          if (vector_along(load->index, lane, width, size_bytes(load->stored)) == width)
            return width;
        }
        return 1;
      };
      int64_t k_width = try_along(true), free_width = try_along(false);
      operand.along_k = k_width >= free_width;
      operand.vector = std::max(k_width, free_width);
      if (operand.vector > 1) return;
      // No vectors: neighbouring threads still follow memory.
      SymInt one = SymInt::axis("ff", free.size());
      Expr load = main_load(region, operand_element(own, region, plan, is_a, flat_b, one, flat_k));
      bool along_free = load && extent_f > 1 && [&] {
        Inliner probe(region);
        SymInt group = SymInt::axis("g", std::max<int64_t>(1, free.size() / extent_f)),
               lane = SymInt::axis("v", extent_f);
        Expr at_lane = main_load(region, operand_element(probe, region, plan, is_a, flat_b,
                                                         group * extent_f + lane, flat_k));
        return at_lane && coefficient(at_lane->index, lane) == 1;
      }();
      operand.along_k = !along_free;
    };
    choose(plan.a, true, plan.m);
    choose(plan.b, false, plan.n);

    // Integer sums are exact.
    plan.fold = is_float(plan.accumulator) &&
                std::any_of(region.outputs.begin(), region.outputs.end(),
                            [](const ir::Value* o) { return !is_low_precision(o->dtype()); });
    // The epilogue must be about its own element; this throws where it is not.
    Inliner check(region);
    stored_elements(check, region, plan, ir::variable("acc", plan.accumulator),
                    SymInt::axis("batch", plan.batch.size()), SymInt::axis("row", plan.m.size()),
                    SymInt::axis("col", plan.n.size()));
  } catch (const ElementMismatch&) { return std::nullopt; }
  return plan;
}

}  // namespace tcc::sched
