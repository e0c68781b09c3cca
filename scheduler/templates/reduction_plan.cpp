#include "scheduler/templates/reduction_plan.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "scheduler/templates/common.h"
#include "scheduler/templates/needless_nan.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

bool uses_axis(const SymInt& index, const SymInt& axis) {
  return !axis.is_const() && index.uses(axis.as_atom());
}

// The number that a row has where the kept dims stand in the order of the input's.
SymInt in_order_of_dims(const ReductionDims& dims, const SymInt& row) {
  if (std::ranges::is_sorted(dims.kept)) return row;
  const std::vector<SymInt> kept = ir::delinearize(row, dims.kept_extents);
  std::vector<size_t> order(kept.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return dims.kept[i]; });
  ir::Shape extents;
  std::vector<SymInt> index;
  for (const size_t i : order) {
    extents.push_back(dims.kept_extents[i]);
    index.push_back(kept[i]);
  }
  return ir::linearize(index, extents);
}

// Kernels read most of the largest buffer: the places of its elements, without clamps.
std::optional<SymInt> main_places(const Region& region, const ReductionPlan& plan,
                                  const std::vector<SymInt>& kept, const SymInt& col) {
  Inliner inliner(region);
  const SymInt row = ir::linearize(kept, plan.reductions[0].dims.kept_extents);
  bind_reductions(inliner, plan, row);
  const Expr body = reduction_body(inliner, plan.reductions[0], row, col);
  int64_t best = -1;
  std::optional<SymInt> places;
  ir::visit(body, [&](const Expr& e) {
    if (e->kind != ir::ExprNode::Kind::load) return;
    const bool depends =
        uses_axis(e->index, col) ||
        std::ranges::any_of(kept, [&](const SymInt& axis) { return uses_axis(e->index, axis); });
    const int64_t elements =
        region.layout(region.inputs[static_cast<size_t>(e->buffer)]).elements.usual();
    if (!depends || elements <= best) return;
    best = elements;
    places = e->index;
  });
  if (places) *places = unclamped(*places);
  return places;
}

// Finds where an axis is divided in an index: the steps of its digits. Returns the number of steps
// of the axis in which `index` takes one, or 0 if that is not fixed.
int64_t find_steps(const SymInt& index, const ir::AtomPtr& axis, std::set<int64_t>& steps) {
  using AtomKind = ir::Atom::Kind;
  int64_t unit = 0;
  for (const SymInt::Term& term : index.terms())
    for (const ir::AtomPtr& atom : term.atoms) {
      int64_t own = 0;
      if (*atom == *axis) {
        own = 1;
      } else if ((atom->kind == AtomKind::floordiv || atom->kind == AtomKind::mod) &&
                 atom->args[1].is_const()) {
        own = find_steps(atom->args[0], axis, steps);
        const int64_t whole = own * atom->args[1].value();
        if (own > 0) steps.insert(whole);
        if (atom->kind == AtomKind::floordiv) own = whole;
      }
      if (own > 0 && term.coefficient == 1) unit = unit == 0 ? own : std::min(unit, own);
    }
  return unit;
}

// The digits of an axis of `count` that an index is linear in, outermost first, and the stride of
// each. Nothing where it is not linear.
struct Walked {
  ReductionPlan::Digit digit;
  int64_t stride;
};
std::vector<Walked> walk_of(const SymInt& index, const SymInt& axis, int64_t count) {
  if (axis.is_const()) return {};
  std::set<int64_t> steps = {1};
  find_steps(index, axis.as_atom(), steps);
  std::vector<Walked> walk;
  std::vector<SymInt> digits;
  SymInt value = 0;
  for (auto step = steps.begin(); step != steps.end() && *step < count; ++step) {
    const auto next = std::next(step);
    const int64_t end = next == steps.end() || *next >= count ? count : *next;
    if (end % *step != 0) return {};
    walk.push_back({{end / *step, *step}, 0});
    digits.push_back(SymInt::axis("digit", end / *step));
    value = value + digits.back() * *step;
  }
  const SymInt places = index.substitute(axis, value);
  for (size_t i = 0; i < walk.size(); ++i) {
    walk[i].stride = coefficient(places, digits[i]);
    if (walk[i].stride < 0) return {};
  }
  std::ranges::reverse(walk);
  return walk;
}

// The elements of the innermost digits that lie one after the other.
int64_t run_of(const std::vector<Walked>& walk) {
  int64_t run = 1;
  for (size_t i = walk.size(); i-- > 0 && walk[i].stride == run;) run *= walk[i].digit.extent;
  return run;
}

// The rows that lie one after the other, in the order of their numbers.
int64_t run_of_rows(const SymInt& places, const std::vector<SymInt>& kept) {
  std::vector<Walked> rows;
  for (const SymInt& axis : kept) {
    if (axis.is_const()) continue;
    const SymInt extent = ir::extent_of(axis);
    std::vector<Walked> own;
    if (extent.is_const())
      own = walk_of(places, axis, extent.value());
    else if (const int64_t stride = coefficient(places, axis); stride > 0)
      own = {{{extent.usual(), 1}, stride}};
    if (own.empty()) rows.clear();
    rows.insert(rows.end(), own.begin(), own.end());
  }
  return run_of(rows);
}

// The expressions of a row and a column: the elements that are reduced, and those that are stored.
struct RowExpressions {
  std::vector<Expr> elements, outputs;
  const ir::Value* asked_elsewhere = nullptr;  // a reduction whose result for another row is needed
};
RowExpressions row_expressions(const Region& region, const ReductionPlan& plan) {
  const SymInt row = SymInt::axis("row", plan.rows), col = SymInt::axis("col", plan.columns);
  Inliner inliner(region, Inliner::Lacking::is_noted);
  bind_reductions(inliner, plan, row);
  RowExpressions found;
  for (const auto& reduction : plan.reductions)
    found.elements.push_back(reduction_body(inliner, reduction, row, col));
  for (const auto& output : plan.outputs)
    found.outputs.push_back(
        inliner.value_at(output.stored.base, output_base_index(plan, output, row, col)));
  found.asked_elsewhere = inliner.asked_elsewhere();
  return found;
}

// Numbers the rows in the order of memory, where that is known and all reductions have the same.
// `kept` are the axes of the kept dims in their order, which changes with theirs.
void order_rows(const Region& region, const SymInt& places, std::vector<SymInt>& kept,
                ReductionPlan& plan) {
  const ReductionDims& dims = plan.reductions[0].dims;
  std::vector<std::pair<int64_t, size_t>> order;  // by stride, the largest first
  for (size_t i = 0; i < kept.size(); ++i) {
    const int64_t stride = kept[i].is_const() ? int64_t{1} << 60 : coefficient(places, kept[i]);
    if (stride <= 0) return;
    order.emplace_back(-stride, i);
  }
  std::ranges::stable_sort(order);
  ReductionPlan ordered = plan;
  for (size_t k = 0; k < plan.reductions.size(); ++k) {
    const ReductionDims& own = plan.reductions[k].dims;
    if (own.kept_extents != dims.kept_extents) return;
    for (size_t i = 0; i < order.size(); ++i) {
      ordered.reductions[k].dims.kept[i] = own.kept[order[i].second];
      ordered.reductions[k].dims.kept_extents[i] = own.kept_extents[order[i].second];
    }
  }
  std::vector<SymInt> axes;
  for (const auto& [stride, from] : order) axes.push_back(kept[from]);
  if (run_of_rows(places, axes) == 1 || row_expressions(region, ordered).asked_elsewhere) return;
  plan = ordered;
  kept = axes;
}

// Whether neighbouring threads go along the reduced dims or along the rows, and in which order.
void choose_walk(const Region& region, ReductionPlan& plan) {
  std::vector<SymInt> kept;
  for (const SymInt& extent : plan.reductions[0].dims.kept_extents)
    kept.push_back(SymInt::axis("row", extent));
  const SymInt col = SymInt::axis("col", plan.columns);
  plan.run = std::max<int64_t>(plan.cols, 1);
  const std::optional<SymInt> places = main_places(region, plan, kept, col);
  if (!places || plan.cols <= 1) return;
  std::vector<Walked> columns;
  if (plan.columns.is_const())
    columns = walk_of(*places, col, plan.cols);
  else if (const int64_t stride = coefficient(*places, col); stride > 0)
    columns = {{{plan.cols, 1}, stride}};
  // The place of an index that is found is the row's own.
  const bool finds_index = std::ranges::any_of(plan.reductions, [](const auto& reduction) {
    return ir::is_arg(*reduction.node->op->reduction);
  });
  if (!finds_index)
    std::ranges::stable_sort(columns, [](const Walked& a, const Walked& b) {
      const auto far = [](const Walked& w) { return w.stride == 0 ? int64_t{1} << 60 : w.stride; };
      return far(a) > far(b);
    });
  plan.run = run_of(columns);
  if (plan.run == 1 && run_of_rows(*places, kept) == 1) order_rows(region, *places, kept, plan);
  const int64_t rows = run_of_rows(*places, kept);
  plan.inner = plan.rows.is(1) || plan.run > 1 || rows == 1;
  if (!plan.inner) plan.run = rows;
  for (const Walked& walked : columns) plan.walk.push_back(walked.digit);
  if (std::ranges::is_sorted(plan.walk, std::greater(), &ReductionPlan::Digit::step))
    plan.walk.clear();
}

// The exponentials relative to a row's maximum: exp(x - max).
bool is_exp_below(const Expr& e, const Expr& x, const ir::Variable& max) {
  using ir::ExprNode;
  if (e->kind != ExprNode::Kind::call || e->fn != ir::Fn::exp) return false;
  const Expr& d = e->args[0];
  if (d->kind != ExprNode::Kind::call || d->fn != ir::Fn::sub || d->args[0] != x) return false;
  return d->args[1]->kind == ExprNode::Kind::var && d->args[1]->variable == max;
}

// Returns whether the region's only reductions, of these elements, are a maximum of x and a sum of
// exp(x - maximum), in f32.
bool is_of_exponentials(const ReductionPlan& plan, const std::vector<Expr>& elements) {
  if (plan.reductions.size() != 2 || plan.stages != 2) return false;
  const auto &max = plan.reductions[0], &sum = plan.reductions[1];
  return *max.node->op->reduction == ir::ReduceKind::max &&
         *sum.node->op->reduction == ir::ReduceKind::sum && elements[0]->dtype == DType::f32 &&
         sum.result.dtype == DType::f32 && is_exp_below(elements[1], elements[0], max.result);
}

// The sum of an open row of nothing is 0, which one walk does not find.
bool may_store_sum_of_nothing(const ReductionPlan& plan) {
  return !plan.columns.is_const() && plan.columns.range().lo == 0 &&
         !std::ranges::all_of(plan.outputs, &ReductionPlan::Output::full);
}

}  // namespace

int reduction_stage(const Region& region, const ir::Value* value,
                    std::map<const ir::Value*, int>& memo) {
  if (!value || !region.contains(value) || region.slot_of_input(value) >= 0) return 0;
  if (auto found = memo.find(value); found != memo.end()) return found->second;
  int stage = 0;
  for (const ir::Value* input : value->producer->inputs)
    stage = std::max(stage, reduction_stage(region, input, memo));
  if (value->producer->op->kind == ir::OpKind::reduce) ++stage;
  return memo[value] = stage;
}

SymInt ReductionPlan::column(const SymInt& place) const {
  if (walk.empty()) return place;
  std::vector<int64_t> extents;
  for (const Digit& digit : walk) extents.push_back(digit.extent);
  const std::vector<SymInt> digits = delinearize_ints(place, extents);
  SymInt column = 0;
  for (size_t i = 0; i < walk.size(); ++i) column = column + digits[i] * walk[i].step;
  return column;
}

Expr reduction_body(Inliner& inliner, const ReductionPlan::Reduction& reduction, const SymInt& row,
                    const SymInt& col) {
  std::vector<SymInt> kept = ir::delinearize(row, reduction.dims.kept_extents);
  std::vector<SymInt> reduced = ir::delinearize(col, reduction.dims.reduced_extents);
  return inliner.value_at(reduction.node->inputs[0], join_index(reduction.dims, kept, reduced));
}

std::vector<SymInt> output_base_index(const ReductionPlan& plan,
                                      const ReductionPlan::Output& output, const SymInt& row,
                                      const SymInt& col) {
  const ir::Shape& shape = output.stored.base->shape();
  const ReductionDims& dims = plan.reductions[0].dims;
  if (!output.full) return ir::delinearize(in_order_of_dims(dims, row), shape);
  const ir::Shape& domain = plan.reductions[0].node->inputs[0]->shape();
  std::vector<SymInt> index = join_index(dims, ir::delinearize(row, dims.kept_extents),
                                         ir::delinearize(col, dims.reduced_extents));
  if (shape == domain) return index;
  SymInt linear = ir::linearize(index, domain);
  return ir::delinearize(linear, shape);
}

void bind_reductions(Inliner& inliner, const ReductionPlan& plan, const SymInt& row) {
  for (const auto& reduction : plan.reductions) {
    inliner.bind(reduction.node->outputs[0], [=](std::span<const SymInt> index) -> Expr {
      std::vector<SymInt> kept = kept_index(reduction.node, reduction.dims, index);
      SymInt asked = ir::linearize(kept, reduction.dims.kept_extents);
      if (!(asked == row)) return nullptr;
      return ir::read(reduction.result);
    });
  }
}

OrRefusal<ReductionPlan> plan_reduction(const Region& region) {
  if (!region.anchor || region.anchor->op->kind != ir::OpKind::reduce)
    return Refusal{"it is anchored by no reduction", true};
  ReductionPlan plan;
  std::map<const ir::Value*, int> memo;
  for (const ir::Node* node : region.nodes) {
    if (node->op->kind == ir::OpKind::contraction || node->op->kind == ir::OpKind::scan ||
        node->op->kind == ir::OpKind::sort || node->op->kind == ir::OpKind::suppress)
      return Refusal{str(node->op_name(), " beside a reduction")};
    if (node->op->kind != ir::OpKind::reduce) continue;
    int stage = reduction_stage(region, node->outputs[0], memo) - 1;
    plan.reductions.push_back({node, reduction_dims(node), stage, {}});
    plan.stages = std::max(plan.stages, stage + 1);
  }
  std::stable_sort(plan.reductions.begin(), plan.reductions.end(),
                   [](const auto& a, const auto& b) { return a.stage < b.stage; });
  plan.rows = plan.reductions[0].dims.rows();
  plan.columns = plan.reductions[0].dims.cols();
  plan.cols = plan.columns.usual();
  for (auto& reduction : plan.reductions) {
    if (!(reduction.dims.rows() == plan.rows) || !(reduction.dims.cols() == plan.columns))
      return Refusal{str("reductions of ", plan.rows, " rows of ", plan.columns, " and of ",
                         reduction.dims.rows(), " rows of ", reduction.dims.cols())};
    reduction.result = ir::new_variable(std::string(name(*reduction.node->op->reduction)),
                                        compute_dtype(reduction.node->outputs[0]->dtype()));
  }
  for (const ir::Value* value : region.outputs) {
    ReductionPlan::Output output{value, peel_views(region, value), false};
    const SymInt n = ir::elements_of(value);
    if (n == plan.rows * plan.columns && !plan.columns.is(1))
      output.full = true;
    else if (!(n == plan.rows))
      return Refusal{str("an output of ", n, " elements is neither one of each of ", plan.rows,
                         " rows nor of each of their ", plan.columns, " columns")};
    // A row's result under a view is stored by the row that has it.
    plan.outputs.push_back(output);
  }
  const RowExpressions rows = row_expressions(region, plan);
  if (const ir::Value* reduced = rows.asked_elsewhere)
    return Refusal{
        str("a row needs the result of ", reduced->producer->op_name(), " of another row")};
  choose_walk(region, plan);
  plan.exponentials = is_of_exponentials(plan, rows.elements);
  plan.online = plan.exponentials && plan.inner && !may_store_sum_of_nothing(plan);
  if (const int max = find_needless_nan(plan.reductions, rows.elements, rows.outputs); max >= 0)
    plan.reductions[static_cast<size_t>(max)].needs_nan = false;
  return plan;
}

bool waits_for_reduction(const Expr& load) {
  bool waits = false;
  ir::visit(load, [&](const Expr& e) { waits |= e->kind == ir::ExprNode::Kind::var; });
  return waits;
}

}  // namespace tcc::sched
