#include "scheduler/templates/operand_rows.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "scheduler/templates/common.h"
#include "scheduler/templates/contraction_plan.h"
#include "scheduler/templates/reduction_plan.h"
#include "scheduler/vectorize.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using Places = std::vector<std::optional<std::vector<SymInt>>>;  // of the rows, by reduction

// Binds the results, and notes of which row each is asked. A second row is asked elsewhere.
void bind_noting(Inliner& inliner, const OperandRows& rows, Places& places) {
  places.assign(rows.reductions.size(), std::nullopt);
  for (size_t i = 0; i < rows.reductions.size(); ++i) {
    const OperandRows::Reduction& one = rows.reductions[i];
    const Expr result = ir::element(rows.results, static_cast<int64_t>(i));
    inliner.bind(one.node->outputs[0], [=, &one, &places](std::span<const SymInt> index) -> Expr {
      const std::vector<SymInt> kept = kept_index(one.node, one.dims, index);
      if (!places[i]) places[i] = kept;
      return *places[i] == kept ? result : nullptr;
    });
  }
}

// The elements of the reductions' inputs, last stage first: those ask for the rows of the stages
// before. Null for a reduction that nothing asks for.
std::vector<Expr> elements_at(Inliner& inliner, const OperandRows& rows, const Places& places,
                              const SymInt& column) {
  std::vector<Expr> elements(rows.reductions.size());
  for (size_t i = rows.reductions.size(); i-- > 0;) {
    const OperandRows::Reduction& one = rows.reductions[i];
    if (!places[i]) continue;
    const std::vector<SymInt> reduced = ir::delinearize(column, one.dims.reduced_extents);
    elements[i] = inliner.value_at(one.node->inputs[0], join_index(one.dims, *places[i], reduced));
  }
  return elements;
}

bool uses(const std::vector<SymInt>& place, const SymInt& axis) {
  return !axis.is_const() && std::ranges::any_of(place, [&](const SymInt& index) {
    return index.uses(axis.as_atom());
  });
}

// f(stage) for the stage that a hook is called for.
Block by_stage(const OperandRows& rows, const SymInt& stage,
               const std::function<Block(int stage)>& of_stage) {
  Block block = of_stage(rows.stages - 1);
  for (int s = rows.stages - 2; s >= 0; --s)
    block = {branch(ir::index_less(stage, s + 1), of_stage(s), std::move(block))};
  return block;
}

}  // namespace

OrRefusal<OperandRows> operand_rows(const Region& region) {
  OperandRows rows;
  std::map<const ir::Value*, int> memo;
  for (const ir::Node* node : region.nodes) {
    if (node->op->kind != ir::OpKind::reduce) continue;
    const ir::ReduceKind kind = *node->op->reduction;
    const DType dtype = compute_dtype(node->outputs[0]->dtype());
    if (ir::is_arg(kind) || dtype != DType::f32 || !is_float(node->inputs[0]->dtype()) ||
        compute_dtype(node->inputs[0]->dtype()) != DType::f32)
      return Refusal{str(node->op_name(), " of ", tcc::name(node->inputs[0]->dtype()),
                         " beside a product, which reduces rows in f32")};
    const ReductionDims dims = reduction_dims(node);
    if (!dims.cols().is_const() || !dims.rows().is_const())
      return Refusal{str(node->op_name(), " of an open size beside a product")};
    const int64_t columns = dims.cols().value();
    if (columns == 0 || (!rows.empty() && columns != rows.columns))
      return Refusal{str("rows of ", columns, " and of ", rows.columns,
                         " elements are reduced beside a product")};
    rows.columns = columns;
    const int stage = reduction_stage(region, node->outputs[0], memo) - 1;
    rows.reductions.push_back({node, dims, kind, stage});
    rows.stages = std::max(rows.stages, stage + 1);
  }
  std::ranges::stable_sort(rows.reductions, {}, &OperandRows::Reduction::stage);
  if (!rows.empty()) rows.results = ir::new_variable("rows", DType::f32);
  return rows;
}

void bind_rows(Inliner& inliner, const OperandRows& rows) {
  for (size_t i = 0; i < rows.reductions.size(); ++i) {
    const Expr result = ir::element(rows.results, static_cast<int64_t>(i));
    inliner.bind(rows.reductions[i].node->outputs[0],
                 [=](std::span<const SymInt>) { return result; });
  }
}

void withhold_rows(Inliner& inliner, const OperandRows& rows) {
  for (const OperandRows::Reduction& one : rows.reductions)
    inliner.bind(one.node->outputs[0], [](std::span<const SymInt>) -> Expr { return nullptr; });
}

std::string place_rows(const Region& region, ContractionPlan& plan) {
  if (plan.rows.empty()) return "";
  const SymInt batch = SymInt::axis("rb", plan.batch.size()), k = SymInt::axis("rk", plan.k.size());
  const SymInt column = SymInt::axis("rc", plan.rows.columns);
  std::optional<bool> of_a;
  for (const bool is_a : {true, false}) {
    const SymInt free = SymInt::axis("rf", (is_a ? plan.m : plan.n).size());
    Inliner inliner(region, Inliner::Lacking::is_noted);
    Places places;
    bind_noting(inliner, plan.rows, places);
    bound_element(inliner, region, plan, is_a, batch, free, k);
    elements_at(inliner, plan.rows, places, column);
    if (inliner.asked_elsewhere()) return "an element needs the results of several rows";
    const auto is_asked = [](const auto& place) { return place.has_value(); };
    if (std::ranges::none_of(places, is_asked)) continue;
    if (of_a) return "both operands need results of rows";
    if (!std::ranges::all_of(places, is_asked)) return "a row is reduced for no operand";
    if (std::ranges::any_of(
            places, [&](const auto& place) { return uses(*place, k) || uses(*place, column); }))
      return "elements of one row need results of several";
    of_a = is_a;
  }
  if (!of_a) return "rows are reduced for no operand";
  plan.rows.of_a = *of_a;
  return "";
}

std::vector<Expr> row_elements(const Region& region, const ContractionPlan& plan,
                               const SymInt& batch, const SymInt& free, const SymInt& column) {
  Inliner inliner(region);
  Places places;
  bind_noting(inliner, plan.rows, places);
  bound_element(inliner, region, plan, plan.rows.of_a, batch, free,
                SymInt::axis("rk", plan.k.size()));
  std::vector<Expr> elements = elements_at(inliner, plan.rows, places, column);
  for (Expr& element : elements) element = ir::cast(element, DType::f32);
  return elements;
}

int64_t part_width(const OperandRows& rows) {
  for (int64_t width : {8, 4, 2})
    if (rows.columns % width == 0) return width;
  return 1;
}

Hook start_rows_hook(const OperandRows& rows) {
  Hook hook;
  hook.name = "start_rows";
  hook.parameters = {Hook::array_parameter("rows", DType::f32, rows.count(), true)};
  for (size_t i = 0; i < rows.reductions.size(); ++i)
    hook.body.push_back(set_element(hook.parameters[0].array, static_cast<int64_t>(i),
                                    identity_value(rows.reductions[i].kind, DType::f32)));
  return hook;
}

Hook reduce_rows_hook(const Region& region, const ContractionPlan& plan) {
  const OperandRows& rows = plan.rows;
  const int64_t width = part_width(rows);
  const FlatAxes& free = rows.of_a ? plan.m : plan.n;
  Hook hook;
  hook.name = "reduce_rows";
  hook.parameters = {Hook::index_parameter("batch", plan.batch.size()),
                     passed_index("at", free.size()), passed_index("part", rows.columns / width),
                     passed_index("stage", rows.stages),
                     Hook::array_parameter("rows", DType::f32, rows.count(), true)};
  hook.parameters[4].array = rows.results;
  const SymInt at = SymInt::axis("m", free.size()), v = SymInt::axis("v", width),
               part = SymInt::axis("p", rows.columns / width);
  if (!at.is_const()) hook.body.push_back(let_index(at, hook.parameters[1].axis));
  if (!part.is_const()) hook.body.push_back(let_index(part, hook.parameters[2].axis));
  const std::vector<Expr> elements =
      row_elements(region, plan, hook.parameters[0].axis, at, part * width + v);
  append(hook.body, by_stage(rows, hook.parameters[3].axis, [&](int stage) {
           std::vector<size_t> own;
           std::vector<Expr> values;
           for (size_t i = 0; i < elements.size(); ++i)
             if (rows.reductions[i].stage == stage) {
               own.push_back(i);
               values.push_back(elements[i]);
             }
           return vectorize_values(values, v, [&](const std::vector<Expr>& rewritten) {
             Block block;
             for (size_t n = 0; n < own.size(); ++n) {
               const auto i = static_cast<int64_t>(own[n]);
               block.push_back(
                   set_element(rows.results, i,
                               combine_values(rows.reductions[own[n]].kind,
                                              ir::element(rows.results, i), rewritten[n])));
             }
             return block;
           });
         }));
  return hook;
}

Hook combine_rows_hook(const OperandRows& rows) {
  Hook hook;
  hook.name = "combine_rows";
  hook.parameters = {passed_index("stage", rows.stages),
                     Hook::array_parameter("other", DType::f32, rows.count(), false),
                     Hook::array_parameter("rows", DType::f32, rows.count(), true)};
  const ir::Variable &other = hook.parameters[1].array, &own = hook.parameters[2].array;
  hook.body = by_stage(rows, hook.parameters[0].axis, [&](int stage) {
    Block block;
    for (size_t n = 0; n < rows.reductions.size(); ++n) {
      if (rows.reductions[n].stage != stage) continue;
      const auto i = static_cast<int64_t>(n);
      block.push_back(set_element(
          own, i,
          combine_values(rows.reductions[n].kind, ir::element(own, i), ir::element(other, i))));
    }
    return block;
  });
  return hook;
}

}  // namespace tcc::sched
