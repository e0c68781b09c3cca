#include "scheduler/templates/contraction_hooks.h"

#include <algorithm>

#include "scheduler/templates/common.h"
#include "scheduler/vectorize.h"
#include "support/checked.h"

namespace tcc::sched {
namespace {

SymInt clamp_to(const SymInt& value, int64_t size) { return ir::min(value, size - 1); }

}  // namespace

Hook ContractionHooks::load(bool of_a, std::string name) const {
  const ContractionPlan::Operand& operand = of_a ? plan_.a : plan_.b;
  const FlatAxes& free = of_a ? plan_.m : plan_.n;
  int64_t width = operand.vector;
  Hook hook;
  hook.name = std::move(name);
  Inliner inliner(region_);
  SymInt v = SymInt::axis("v", width);
  int64_t k_count = operand.along_k ? plan_.k.size() / width : plan_.k.size();
  int64_t free_count = operand.along_k ? free.size() : free.size() / width;
  int64_t block = of_a ? tile_.block_m : tile_.block_n;
  int64_t padded_free = round_up(free.size(), block) / (operand.along_k ? 1 : width);
  int64_t padded_k = round_up(plan_.k.size(), tile_.block_k) / (operand.along_k ? width : 1);
  hook.parameters = {Hook::index_parameter("batch", plan_.batch.size()),
                     Hook::index_parameter("at", std::max<int64_t>(padded_free, 2)),
                     Hook::index_parameter("k", std::max<int64_t>(padded_k, 2)),
                     Hook::array_parameter("out_values", plan_.accumulator, width, true)};
  const SymInt batch = hook.parameters[0].axis, raw_free = hook.parameters[1].axis,
               raw_k = hook.parameters[2].axis;
  const Variable& values = hook.parameters[3].array;
  SymInt f = SymInt::axis(of_a ? "m" : "n", free_count), k = SymInt::axis("kk", k_count);
  SymInt element_free = operand.along_k ? f : f * width + v;
  SymInt element_k = operand.along_k ? k * width + v : k;
  Block body;
  if (!f.is_const()) body.push_back(let_index(f, clamp_to(raw_free, free_count)));
  if (!k.is_const()) body.push_back(let_index(k, clamp_to(raw_k, k_count)));
  Expr value = operand_element(inliner, region_, plan_, of_a, batch, element_free, element_k);
  Sink sink;
  sink.array = values;
  sink.offset = v;
  sink.value = value;
  append(body, vectorize({sink}, v));
  if (padded_k > k_count) {
    Block zeros = {loop(v, {set_element(values, v, zero_of(plan_.accumulator))}, true)};
    hook.body = {branch(ir::index_less(raw_k, k_count), std::move(body), std::move(zeros))};
  } else {
    hook.body = std::move(body);
  }
  return hook;
}

Hook ContractionHooks::epilogue() const {
  int64_t width = tile_.segment;
  int64_t m_size = plan_.m.size(), n_size = plan_.n.size();
  Hook hook;
  hook.name = "epilogue";
  hook.parameters = {
      Hook::index_parameter("batch", plan_.batch.size()),
      Hook::index_parameter("row", std::max<int64_t>(2, round_up(m_size, tile_.block_m))),
      Hook::index_parameter("part", std::max<int64_t>(2, round_up(n_size, tile_.block_n) / width)),
      Hook::array_parameter("acc", plan_.accumulator, width, false)};
  const SymInt batch = hook.parameters[0].axis, raw_row = hook.parameters[1].axis,
               raw_part = hook.parameters[2].axis;
  SymInt row = SymInt::axis("m", m_size);
  SymInt v = SymInt::axis("v", width);
  Expr row_inside = ir::index_less(raw_row, m_size);
  Inliner inliner(region_);
  auto store_at = [&](const SymInt& col, const SymInt& lane) {
    std::vector<Sink> sinks;
    Expr acc = ir::element(hook.parameters[3].array, v);
    for (const Stored& s : stored_elements(inliner, region_, plan_, acc, batch, row, col))
      sinks.push_back({s.buffer, {}, s.offset, s.value});
    return vectorize(sinks, lane);
  };
  Block body;
  if (!row.is_const()) body.push_back(let_index(row, raw_row));
  std::vector<Expr> guards = {row_inside};
  if (n_size % width == 0) {
    SymInt part = SymInt::axis("n", n_size / width);
    guards.push_back(ir::index_less(raw_part, n_size / width));
    if (!part.is_const()) body.push_back(let_index(part, raw_part));
    append(body, store_at(part * width + v, v));
  } else {
    SymInt col = SymInt::axis("n", n_size);
    Block lane;
    if (!col.is_const()) lane.push_back(let_index(col, raw_part * width + v));
    append(lane, store_at(col, 0));
    body.push_back(
        loop(v, {branch(ir::index_less(raw_part * width + v, n_size), std::move(lane))}, true));
  }
  Expr guard = ir::all_of(guards);
  hook.body =
      guard && !ir::is_true(guard) ? Block{branch(guard, std::move(body))} : std::move(body);
  return hook;
}

}  // namespace tcc::sched
