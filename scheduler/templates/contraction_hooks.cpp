#include "scheduler/templates/contraction_hooks.h"

#include <algorithm>

#include "scheduler/templates/common.h"
#include "scheduler/vectorize.h"
#include "support/checked.h"

namespace tcc::sched {
namespace {

SymInt clamp_to(const SymInt& value, const SymInt& size) { return ir::min(value, size - 1); }

// passed_index, of sizes that are numbers or above 1.
Hook::Parameter passed_place(std::string name, const SymInt& extent) {
  return Hook::index_parameter(std::move(name), extent.is(0) || extent.is(1) ? SymInt(2) : extent);
}

bool has_store(const Block& block) {
  return std::ranges::any_of(block, [](const Stmt& stmt) {
    return stmt.kind == Stmt::Kind::store || stmt.kind == Stmt::Kind::store_vector ||
           has_store(stmt.body) || has_store(stmt.otherwise);
  });
}

// Removes the stores of vectors that the block ends with, if it has no others, and returns them.
Block take_stores(Block& block) {
  auto begin = block.end();
  while (begin != block.begin() && std::prev(begin)->kind == Stmt::Kind::store_vector) --begin;
  if (has_store({block.begin(), begin})) return {};
  Block stores(begin, block.end());
  block.erase(begin, block.end());
  return stores;
}

}  // namespace

Hook ContractionHooks::load(bool of_a, std::string name) const {
  const ContractionPlan::Operand& operand = of_a ? plan_.a : plan_.b;
  const FlatAxes& free = of_a ? plan_.m : plan_.n;
  const bool has_rows = !plan_.rows.empty() && plan_.rows.of_a == of_a;
  int64_t width = operand.vector;
  Hook hook;
  hook.name = std::move(name);
  Inliner inliner(region_);
  SymInt v = SymInt::axis("v", width);
  const SymInt k_size = plan_.k.size(), k_width = operand.along_k ? width : 1;
  const SymInt free_width = operand.along_k ? 1 : width;
  const SymInt k_count = floordiv(k_size, k_width);
  const SymInt free_count = floordiv(free.size(), free_width);
  int64_t block = of_a ? tile_.block_m : tile_.block_n;
  const SymInt padded_free = floordiv(round_up_to(free.size(), block), free_width);
  // There may be no products where sums are open.
  const SymInt padded_k =
      floordiv(round_up_to(k_size, tile_.block_k), k_width) + (k_size.is_const() ? 0 : 1);
  hook.parameters = {Hook::index_parameter("batch", plan_.batch.size()),
                     passed_place("at", padded_free), passed_place("k", padded_k),
                     Hook::array_parameter("out_values", plan_.accumulator, width, true)};
  const SymInt batch = hook.parameters[0].axis, raw_free = hook.parameters[1].axis,
               raw_k = hook.parameters[2].axis;
  const Variable values = hook.parameters[3].array;
  if (has_rows) {
    Hook::Parameter results = Hook::array_parameter("rows", DType::f32, plan_.rows.count(), false);
    results.array = plan_.rows.results;
    hook.parameters.insert(hook.parameters.end() - 1, std::move(results));
  }
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
  if (!(padded_k == k_count)) {
    Block zeros = {loop(v, {set_element(values, v, zero_of(plan_.accumulator))}, true)};
    hook.body = {branch(ir::index_less(raw_k, k_count), std::move(body), std::move(zeros))};
  } else {
    hook.body = std::move(body);
  }
  return hook;
}

Hook ContractionHooks::epilogue(std::span<const int> read) const {
  int64_t width = tile_.segment;
  const SymInt m_size = plan_.m.size();
  const SymInt n_size = plan_.n.size();
  Hook hook;
  hook.name = "epilogue";
  hook.parameters = {Hook::index_parameter("batch", plan_.batch.size()),
                     passed_place("row", round_up_to(m_size, tile_.block_m)),
                     passed_place("part", floordiv(round_up_to(n_size, tile_.block_n), width)),
                     Hook::array_parameter("acc", plan_.accumulator, width, false)};
  for (size_t i = 0; i < read.size(); ++i)
    hook.parameters.push_back(Hook::array_parameter("residual", DType::f32, width, false));
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
    std::vector<Expr> values;
    for (const Sink& sink : sinks) values.push_back(sink.value);
    ir::rewrite_all(values, [&](const Expr& e) -> Expr {
      if (e->kind != ir::ExprNode::Kind::load) return nullptr;
      const auto brought = std::ranges::find(read, e->buffer);
      if (brought == read.end()) return nullptr;
      return ir::element(hook.parameters[static_cast<size_t>(4 + (brought - read.begin()))].array,
                         v);
    });
    for (size_t i = 0; i < sinks.size(); ++i) sinks[i].value = values[i];
    return vectorize(sinks, lane);
  };
  const auto guarded = [](const Expr& guard, Block block) {
    return guard && !ir::is_true(guard) ? Block{branch(guard, std::move(block))} : block;
  };
  if (!n_size.divisible_by(width)) {
    const SymInt col = SymInt::axis("n", n_size), number = raw_part * width + v;
    Block body, lane;
    if (!row.is_const()) body.push_back(let_index(row, raw_row));
    if (!col.is_const()) lane.push_back(let_index(col, number));
    append(lane, store_at(col, 0));
    body.push_back(loop(v, {branch(ir::index_less(number, n_size), std::move(lane))}, true));
    hook.body = guarded(row_inside, std::move(body));
    return hook;
  }
  const SymInt parts = floordiv(n_size, width), part = SymInt::axis("n", parts);
  Block body = store_at(part * width + v, v);
  const Expr guard = ir::all_of(std::vector{row_inside, ir::index_less(raw_part, parts)});
  // Only stores have the condition: what is past the end computes with the last row or part, so
  // that the loads of all calls are under way at once.
  Block stores;
  if (!ir::is_true(guard)) stores = stores_where(guard, take_stores(body));
  Block places;
  const auto place = [&](const SymInt& axis, const SymInt& raw, const SymInt& size,
                         std::string clamped) {
    if (axis.is_const()) return;
    places.push_back(let_index(axis, raw));
    if (stores.empty() || clamp_to(raw, size) == raw) return;
    const SymInt inside = SymInt::axis(std::move(clamped), size);
    places.push_back(let_index(inside, clamp_to(raw, size)));
    body = substitute(body, axis, inside);
  };
  place(row, raw_row, m_size, "read_m");
  place(part, raw_part, parts, "read_n");
  append(places, std::move(body));
  append(hook.body, stores.empty() ? guarded(guard, std::move(places)) : std::move(places));
  append(hook.body, std::move(stores));
  return hook;
}

}  // namespace tcc::sched
