#include "scheduler/templates/contraction_hooks.h"

#include <algorithm>

#include "scheduler/templates/common.h"
#include "scheduler/templates/held_loads.h"
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

// The hook of a segment of results, and the axes that number the places inside.
struct ContractionHooks::Segment {
  Segment(const ContractionHooks& hooks, std::string name)
      : width(hooks.tile_.segment),
        m_size(hooks.plan_.m.size()),
        n_size(hooks.plan_.n.size()),
        row(SymInt::axis("m", m_size)),
        v(SymInt::axis("v", width)) {
    const ContractionTile& tile = hooks.tile_;
    hook.name = std::move(name);
    hook.parameters = {Hook::index_parameter("batch", hooks.plan_.batch.size()),
                       passed_place("row", round_up_to(m_size, tile.block_m)),
                       passed_place("part", floordiv(round_up_to(n_size, tile.block_n), width))};
    batch = hook.parameters[0].axis;
    raw_row = hook.parameters[1].axis;
    raw_part = hook.parameters[2].axis;
    if (n_size.divisible_by(width)) {
      parts = floordiv(n_size, width);
      part = SymInt::axis("n", parts);
    }
  }
  Variable add(std::string array_name, DType dtype, int64_t elements, bool written = false) {
    hook.parameters.push_back(
        Hook::array_parameter(std::move(array_name), dtype, elements, written));
    return hook.parameters.back().array;
  }

  Hook hook;
  int64_t width;
  SymInt m_size, n_size, parts;
  SymInt batch, raw_row, raw_part;  // parameters
  SymInt row, part, v;
};

std::vector<Sink> ContractionHooks::sinks(Inliner& inliner, const Segment& of, const Variable& acc,
                                          const SymInt& col) const {
  std::vector<Sink> sinks;
  for (const Stored& s :
       stored_elements(inliner, region_, plan_, ir::element(acc, of.v), of.batch, of.row, col))
    sinks.push_back({s.buffer, {}, s.offset, s.value});
  return sinks;
}

Hook ContractionHooks::stores(Segment segment, const Variable& acc, const Brought& brought) const {
  Hook& hook = segment.hook;
  const int64_t width = segment.width;
  const SymInt &m_size = segment.m_size, &n_size = segment.n_size, &row = segment.row,
               &v = segment.v, &raw_row = segment.raw_row, &raw_part = segment.raw_part;
  Expr row_inside = ir::index_less(raw_row, m_size);
  Inliner inliner(region_);
  auto store_at = [&](const SymInt& col, const SymInt& lane) {
    std::vector<Sink> sinks = this->sinks(inliner, segment, acc, col);
    std::vector<Expr> values;
    for (const Sink& sink : sinks) values.push_back(sink.value);
    brought(values);
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
    return std::move(hook);
  }
  const SymInt &parts = segment.parts, &part = segment.part;
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
  return std::move(hook);
}

Hook ContractionHooks::epilogue(std::span<const int> read) const {
  Segment segment(*this, "epilogue");
  const Variable acc = segment.add("acc", plan_.accumulator, segment.width);
  std::vector<Variable> residuals;
  for (size_t i = 0; i < read.size(); ++i)
    residuals.push_back(segment.add("residual", DType::f32, segment.width));
  const SymInt v = segment.v;
  return stores(std::move(segment), acc, [&](std::vector<Expr>& values) {
    ir::rewrite_all(values, [&](const Expr& e) -> Expr {
      if (e->kind != ir::ExprNode::Kind::load) return nullptr;
      const auto brought = std::ranges::find(read, e->buffer);
      if (brought == read.end()) return nullptr;
      return ir::element(residuals[static_cast<size_t>(brought - read.begin())], v);
    });
  });
}

ContractionHooks::HeldEpilogue ContractionHooks::held_epilogue(bool shares_columns,
                                                               int64_t most) const {
  HeldEpilogue held;
  const Segment place(*this, "epilogue");
  Segment segment = place;
  const Variable acc = segment.add("acc", plan_.accumulator, segment.width);
  if (!segment.n_size.divisible_by(segment.width)) {
    held.hooks.push_back(stores(std::move(segment), acc, [](std::vector<Expr>&) {}));
    return held;
  }
  Inliner inliner(region_);
  std::vector<Expr> values;
  for (const Sink& sink : sinks(inliner, segment, acc, segment.part * segment.width + segment.v))
    values.push_back(sink.value);
  // Adds the hook that brings such loads of what is left of the values, and the words that the
  // epilogue gets.
  std::vector<std::pair<HeldLoads, Variable>> brought;
  const auto hold = [&](std::string name, std::string array, HeldLoads::Which which) -> int64_t {
    Segment of = place;
    of.hook.name = std::move(name);
    HeldLoads loads(values, {of.v, of.part, of.row}, which);
    const int64_t words = loads.words();
    if (words == 0 || words > most) return 0;
    const Variable out = of.add(array, DType::u32, words, true);
    const auto inside = [&](const SymInt& axis, const SymInt& raw, const SymInt& size) {
      if (!axis.is_const()) of.hook.body.push_back(let_index(axis, clamp_to(raw, size)));
    };
    inside(of.row, of.raw_row, of.m_size);
    inside(of.part, of.raw_part, of.parts);
    append(of.hook.body, loads.load(out));
    held.hooks.push_back(std::move(of.hook));
    const Variable words_of = segment.add(std::move(array), DType::u32, words);
    for (Expr& value : values) value = loads.read(value, words_of);
    brought.emplace_back(std::move(loads), words_of);
    return words;
  };
  using Which = HeldLoads::Which;
  if (shares_columns) held.columns = hold("hold_columns", "columns", Which::of_all_queries);
  held.held = hold("hold", "held", Which::all);
  held.hooks.push_back(stores(std::move(segment), acc, [&](std::vector<Expr>& stored) {
    for (const auto& [loads, words] : brought)
      for (Expr& value : stored) value = loads.read(value, words);
  }));
  return held;
}

}  // namespace tcc::sched
