#include "scheduler/templates/contraction_plan.h"

#include <algorithm>

#include "scheduler/dim_map.h"
#include "scheduler/templates/common.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

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
    flat.extents.push_back(extents[i]);
    flat.position.push_back(i);
  }
  return flat;
}

std::vector<SymInt> unflatten(const FlatAxes& flat, size_t count, const SymInt& index) {
  std::vector<SymInt> axes(count, SymInt(0));
  std::vector<SymInt> parts = ir::delinearize(index, flat.extents);
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

Expr main_load(const Region& region, const Expr& e) {
  Expr best;
  int64_t elements = -1;
  ir::visit(e, [&](const Expr& node) {
    if (node->kind != ir::ExprNode::Kind::load) return;
    int64_t n = region.layout(region.inputs[static_cast<size_t>(node->buffer)]).elements.usual();
    if (n <= elements) return;
    elements = n;
    best = node;
  });
  return best;
}

DType accumulator_dtype(DType dtype) {
  if (is_float(dtype)) return compute_dtype(dtype);
  if (size_bytes(dtype) == 8) return dtype;
  return info(dtype).is_signed ? DType::i32 : DType::u32;
}

SymInt FlatAxes::size() const { return ir::product(extents); }

exec::Amount ContractionPlan::flops() const {
  return {2, batch.size() * m.size() * n.size() * k.size()};
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
  bind_rows(inliner, plan.rows);
  return bound_element(inliner, region, plan, of_a, batch, free, k);
}

Expr bound_element(Inliner& inliner, const Region& region, const ContractionPlan& plan, bool of_a,
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

namespace {

// The element of `base` that is computed of the result's element at `at`: of the same shape, of a
// permuted one, or of one with as many elements in the same order.
std::vector<SymInt> base_index(const Region& region, const ir::Value* base, const ir::Value* result,
                               const std::vector<SymInt>& at) {
  if (std::optional<std::vector<SymInt>> index = permuted_index(region, base, result, at))
    return *std::move(index);
  return ir::delinearize(ir::linearize(at, result->shape()), base->shape());
}

}  // namespace

std::vector<Stored> stored_elements(Inliner& inliner, const Region& region,
                                    const ContractionPlan& plan, const Expr& accumulator,
                                    const SymInt& batch, const SymInt& m, const SymInt& n) {
  const ir::Value* result = region.anchor->outputs[0];
  ContractionPlan::Axes axes = plan.axes(batch, m, n, 0);
  std::vector<SymInt> at = plan.op.out(axes.batch, axes.m, axes.n);
  inliner.bind(result, [=, &region](std::span<const SymInt> index) -> Expr {
    for (size_t d = 0; d < at.size(); ++d)
      if (!(index[d] == at[d])) return nullptr;
    DType dtype = compute_dtype(result->dtype());
    if (region.strict_rounding && is_low_precision(result->dtype()))
      return ir::cast(ir::cast(accumulator, result->dtype()), dtype);
    return ir::cast(accumulator, dtype);
  });
  std::vector<Stored> stored;
  for (const ir::Value* output : region.outputs) {
    StoredThrough through = peel_views(region, output, result);
    const std::vector<SymInt> index = base_index(region, through.base, result, at);
    Expr value = inliner.value_at(through.base, index);
    stored.push_back({region.slot_of_output(output),
                      region.layout(output).offset(through.output_index(index)), value});
  }
  return stored;
}

namespace {

// The op's axes as symbols of their own, and the places that its operands are read at.
struct OpAxes {
  std::vector<SymInt> batch, m, n, k;
  ir::Access a, b;
  // The kept batch axes, and m and n with the batch axes that only one operand has.
  std::vector<SymInt> kept, wide_m, wide_n;
  std::vector<SymInt> kept_extents, m_extents, n_extents;
};

std::vector<SymInt> joined(const std::vector<int>& moved, const std::vector<SymInt>& batch,
                           const std::vector<SymInt>& own) {
  std::vector<SymInt> all;
  for (const int i : moved) all.push_back(batch[static_cast<size_t>(i)]);
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

// Decides which batch axes count as rows or columns, too.
OpAxes axes_of(ContractionPlan& plan) {
  OpAxes axes;
  axes.batch = named_axes("b", plan.op.batch);
  axes.m = named_axes("m", plan.op.m);
  axes.n = named_axes("n", plan.op.n);
  axes.k = named_axes("k", plan.op.k);
  axes.a = plan.op.a(axes.batch, axes.m, axes.k);
  axes.b = plan.op.b(axes.batch, axes.k, axes.n);
  for (int i = 0; i < static_cast<int>(axes.batch.size()); ++i) {
    const SymInt& axis = axes.batch[static_cast<size_t>(i)];
    if (!uses_axis(axes.b, axis))
      plan.batch_as_m.push_back(i);
    else if (!uses_axis(axes.a, axis))
      plan.batch_as_n.push_back(i);
    else
      plan.batch_kept.push_back(i);
  }
  axes.kept = joined(plan.batch_kept, axes.batch, {});
  axes.kept_extents = joined(plan.batch_kept, plan.op.batch, {});
  axes.wide_m = joined(plan.batch_as_m, axes.batch, axes.m);
  axes.m_extents = joined(plan.batch_as_m, plan.op.batch, plan.op.m);
  axes.wide_n = joined(plan.batch_as_n, axes.batch, axes.n);
  axes.n_extents = joined(plan.batch_as_n, plan.op.batch, plan.op.n);
  return axes;
}

// The layouts of the main operands and the first output decide the order of the flat axes.
void order_axes(const Region& region, const OpAxes& axes, ContractionPlan& plan) {
  const ir::Node* node = region.anchor;
  const ir::Value* result = node->outputs[0];
  Inliner inliner(region);
  bind_rows(inliner, plan.rows);
  const Expr of_a =
      inliner.value_at(node->inputs[static_cast<size_t>(plan.op.a_operand)], axes.a.index);
  const Expr load_a = main_load(region, of_a);
  // The output's offset as a function of the op's axes.
  const std::vector<SymInt> at = plan.op.out(axes.batch, axes.m, axes.n);
  const ir::Value* output = region.outputs[0];
  const StoredThrough through = peel_views(region, output, result);
  const std::vector<SymInt> index = base_index(region, through.base, result, at);
  const SymInt offset = region.layout(output).offset(through.output_index(index));
  plan.batch = flatten(axes.kept, axes.kept_extents, offset);
  const FlatAxes flat_m = flatten(axes.wide_m, axes.m_extents, offset),
                 flat_n = flatten(axes.wide_n, axes.n_extents, offset);
  plan.k = flatten(axes.k, plan.op.k, load_a ? load_a->index : SymInt(0));
  // Columns are what is contiguous in the output.
  auto innermost = [&](const FlatAxes& flat, const std::vector<SymInt>& own) -> int64_t {
    return flat.position.empty() ? 0 : coefficient(offset, own[flat.position.back()]);
  };
  plan.swapped = innermost(flat_n, axes.wide_n) != 1 && innermost(flat_m, axes.wide_m) == 1;
  plan.m = plan.swapped ? flat_n : flat_m;
  plan.n = plan.swapped ? flat_m : flat_n;
}

// How an operand is read: the flat indices, and the extents of its innermost axes.
struct OperandAccess {
  static constexpr int64_t kVectorBytes = 16;

  OperandAccess(const Region& region, const ContractionPlan& plan, bool is_a)
      : region_(region),
        plan_(plan),
        is_a_(is_a),
        free_(is_a ? plan.m : plan.n),
        extent_k_(plan.k.extents.empty() ? SymInt(1) : plan.k.extents.back()),
        extent_f_(free_.extents.empty() ? SymInt(1) : free_.extents.back()),
        batch_(SymInt::axis("fb", plan.batch.size())),
        f_(SymInt::axis("ff", free_.size())),
        k_(SymInt::axis("fk", plan.k.size())),
        inliner_(region) {
    for (const ir::Value* input : region.inputs)
      widest_ = std::max(widest_, kVectorBytes / size_bytes(input->dtype()));
  }

  // The widest vector along k, or along the operand's own axis, of at most `widest` elements.
  int64_t vector(bool along_k, int64_t widest) {
    const SymInt& extent = along_k ? extent_k_ : extent_f_;
    const SymInt total = along_k ? plan_.k.size() : free_.size();
    for (int64_t width = widest; width > 1; width /= 2) {
      if (width > widest_ || !extent.divisible_by(width)) continue;
      const SymInt group = SymInt::axis("g", floordiv(total, width)),
                   lane = SymInt::axis("v", width);
      const SymInt along = group * width + lane;
      const Expr load = load_at(inliner_, along_k ? f_ : along, along_k ? along : k_);
      if (!load) return 1;
      if (width * size_bytes(load->stored) > kVectorBytes) continue;
      if (vector_along(load->index, lane, width, size_bytes(load->stored)) == width) return width;
    }
    return 1;
  }

  // Neighbours along the operand's own axis are neighbours in memory.
  bool follows_free() {
    if (!load_at(inliner_, f_, k_) || extent_f_.is(0) || extent_f_.is(1)) return false;
    Inliner probe(region_);
    const SymInt groups = ir::product(std::span(free_.extents).first(free_.extents.size() - 1));
    const SymInt group = SymInt::axis("g", groups.is(0) ? SymInt(1) : groups),
                 lane = SymInt::axis("v", extent_f_);
    const Expr load = load_at(probe, group * extent_f_ + lane, k_);
    return load && coefficient(load->index, lane) == 1;
  }

 private:
  Expr load_at(Inliner& inliner, const SymInt& free, const SymInt& k) const {
    return main_load(region_, operand_element(inliner, region_, plan_, is_a_, batch_, free, k));
  }

  const Region& region_;
  const ContractionPlan& plan_;
  bool is_a_;
  const FlatAxes& free_;
  SymInt extent_k_, extent_f_;
  SymInt batch_, f_, k_;
  Inliner inliner_;
  int64_t widest_ = 1;  // of any of the region's buffers
};

// Vector reads run along k where memory does, else along the operand's own axis.
ContractionPlan::Operand operand_of(const Region& region, const ContractionPlan& plan, bool is_a,
                                    int64_t widest) {
  constexpr int64_t kWidestFree = 8;
  ContractionPlan::Operand operand;
  operand.input = (is_a != plan.swapped) ? plan.op.a_operand : plan.op.b_operand;
  OperandAccess access(region, plan, is_a);
  const int64_t k_width = access.vector(true, widest),
                free_width = access.vector(false, kWidestFree);
  operand.along_k = k_width >= free_width;
  operand.vector = std::max(k_width, free_width);
  // Without vectors, neighbouring threads still follow memory.
  if (operand.vector <= 1) operand.along_k = !access.follows_free();
  return operand;
}

// Every output's element is made of the product's element of the same place.
bool epilogue_is_own(const Region& region, const ContractionPlan& plan) {
  Inliner inliner(region, Inliner::Lacking::is_noted);
  withhold_rows(inliner, plan.rows);
  stored_elements(inliner, region, plan, ir::read(ir::new_variable("acc", plan.accumulator)),
                  SymInt::axis("batch", plan.batch.size()), SymInt::axis("row", plan.m.size()),
                  SymInt::axis("col", plan.n.size()));
  return !inliner.asked_elsewhere();
}

}  // namespace

bool is_depthwise(const ir::Node& node) {
  if (!has_small_groups(node)) return false;
  const ir::Shape& weight = node.inputs[1]->shape();
  return weight[0].is(node.attr<int64_t>("groups")) && weight[1].is(1);
}

bool has_small_groups(const ir::Node& node) {
  constexpr int64_t kMost = 32;  // channels of a group
  if (node.op_name() != "convolution") return false;
  const auto groups = node.attr<int64_t>("groups");
  const ir::Shape& weight = node.inputs[1]->shape();
  const auto few = [](const SymInt& all, int64_t parts) {
    return all.is_const() && all.value() <= kMost * parts;
  };
  const std::vector<int64_t> spread = node.ints("input_dilation");
  return groups > 1 && few(weight[0], groups) && few(weight[1], 1) &&
         std::ranges::all_of(spread, [](int64_t holes) { return holes == 1; });
}

OrRefusal<ContractionPlan> plan_contraction(const Region& region, int64_t widest, Rows rows) {
  const ir::Node* node = region.anchor;
  if (!node || node->op->kind != ir::OpKind::contraction)
    return Refusal{"it is anchored by no matrix product or convolution", true};
  if (is_depthwise(*node) && open_dims(region).empty())
    return Refusal{"channels of a depthwise convolution share no elements"};
  const ir::Value* result = node->outputs[0];
  for (const ir::Node* other : region.nodes)
    if (other != node && other->op->kind != ir::OpKind::pointwise &&
        other->op->kind != ir::OpKind::view &&
        !(rows == Rows::reduced && other->op->kind == ir::OpKind::reduce))
      return Refusal{
          str(other->op_name(), " is neither element-wise nor a view, beside ", node->op_name())};
  for (const ir::Value* output : region.outputs)
    if (!(ir::elements_of(output) == ir::elements_of(result)))
      return Refusal{str("an output of ", ir::elements_of(output), " elements beside ",
                         node->op_name(), "'s ", ir::elements_of(result))};

  ContractionPlan plan;
  plan.op = node->op->contraction(*node);
  plan.accumulator = accumulator_dtype(result->dtype());
  if (ir::product(plan.op.k).is(0))  // zeros, and operands without memory
    return Refusal{str(node->op_name(), " sums up nothing")};
  OrRefusal<OperandRows> reduced = operand_rows(region);
  if (!reduced) return reduced.refusal();
  plan.rows = *std::move(reduced);
  const OpAxes axes = axes_of(plan);
  order_axes(region, axes, plan);
  plan.a = operand_of(region, plan, true, widest);
  plan.b = operand_of(region, plan, false, widest);
  // Integer sums are exact.
  plan.fold = is_float(plan.accumulator) &&
              std::any_of(region.outputs.begin(), region.outputs.end(),
                          [](const ir::Value* o) { return !is_low_precision(o->dtype()); });
  if (std::string why = place_rows(region, plan); !why.empty()) return Refusal{std::move(why)};
  if (!epilogue_is_own(region, plan))
    return Refusal{str("an output needs other elements of ", node->op_name(), " than its own")};
  return plan;
}

}  // namespace tcc::sched
