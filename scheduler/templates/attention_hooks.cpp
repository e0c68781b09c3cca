#include "scheduler/templates/attention_hooks.h"

#include <algorithm>
#include <limits>

#include "scheduler/templates/attention_columns.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/held_loads.h"
#include "scheduler/templates/matrix_operand.h"
#include "scheduler/vectorize.h"
#include "scheduler/work.h"
#include "support/checked.h"

namespace tcc::sched {
namespace {

// An axis for an index that may lie past the end, which is then the last one.
SymInt clamped_axis(Block& body, std::string name, const SymInt& index, const SymInt& extent) {
  const SymInt axis = SymInt::axis(std::move(name), extent);
  if (!axis.is_const()) body.push_back(let_index(axis, ir::min(index, extent - 1)));
  return axis;
}

// The score of a raw product there, without its mask; raw where the kernel scales it.
Expr score_of(const AttentionPlan& plan, const Expr& raw, const SymInt& batch,
              const AttentionPlan::Places& places) {
  return plan.is_scaled ? raw : with_variable(plan.at(plan.score, batch, places), plan.raw, raw);
}

// The statements that set the four elements of a hook's range.
Block set_range(const Variable& range, const KeyRange& of) {
  Block set;
  int64_t i = 0;
  for (const SymInt& bound : {of.first, of.end, of.inside_first, of.inside_end})
    set.push_back(set_element(range, i++, index_number(bound)));
  return set;
}

// Hooks with tile.holds are about so many neighbouring keys, and a thread's rows are so far apart.
constexpr int64_t kPair = 2, kRows = 8;

Expr minus_infinity() { return ir::constant(DType::f32, -std::numeric_limits<double>::infinity()); }

}  // namespace

Hook AttentionHooks::load(const AttentionPlan::Operand& operand, std::string name) const {
  const int64_t width = operand.vector, parts = operand.depths / width;
  const bool of_v = &operand == &plan_.v;
  const int64_t block = &operand == &plan_.q ? tile_.block_q : tile_.block_k;
  const int64_t padded = ceil_div(of_v ? tile_.depth_v : tile_.depth, width);
  Hook hook;
  hook.name = std::move(name);
  hook.parameters = {Hook::index_parameter("batch", plan_.all_batches()),
                     passed_index("row", round_up_to(operand.rows, block)),
                     passed_index("d", padded),
                     Hook::array_parameter("out_values", DType::f32, width, true)};
  const SymInt batch = hook.parameters[0].axis, row = hook.parameters[1].axis,
               part = hook.parameters[2].axis, v = SymInt::axis("v", width);
  const Variable& values = hook.parameters[3].array;
  Block body;
  const SymInt r = clamped_axis(body, "r", row, operand.rows),
               d = clamped_axis(body, "g", part, parts);
  const AttentionPlan::Places places = {{operand.row, r}, {operand.depth, d * width + v}};
  Sink sink;
  sink.array = values;
  sink.offset = v;
  sink.value = plan_.at(operand.element, batch, places);
  append(body, vectorize({sink}, v));
  if (padded > parts) {
    Block zeros = {loop(v, {set_element(values, v, zero_of(DType::f32))}, true)};
    hook.body = {branch(ir::index_less(part, parts), std::move(body), std::move(zeros))};
  } else {
    hook.body = std::move(body);
  }
  return hook;
}

Hook AttentionHooks::coordinates(const AttentionPlan::Operand& operand, std::string name) const {
  return coordinates_hook(*operand.view, plan_.all_batches(), std::move(name));
}

Hook AttentionHooks::start(const AttentionPlan::Operand& operand, std::string name) const {
  Hook hook;
  hook.name = std::move(name);
  hook.parameters = {Hook::index_parameter("batch", plan_.all_batches())};
  hook.returns = true;
  hook.result = DType::i64;
  hook.body = {return_value(ir::index_value(batch_offset(*operand.view, hook.parameters[0].axis)))};
  return hook;
}

Hook AttentionHooks::row(const AttentionPlan::Operand& operand, std::string name) const {
  const int64_t block = &operand == &plan_.q ? tile_.block_q : tile_.block_k;
  Hook hook;
  hook.name = std::move(name);
  hook.parameters = {Hook::index_parameter("batch", plan_.all_batches()),
                     passed_index("row", round_up_to(operand.rows, block))};
  hook.returns = true;
  hook.result = DType::i64;
  const SymInt r = clamped_axis(hook.body, "r", hook.parameters[1].axis, operand.rows);
  const SymInt begin =
      plan_.at(operand.rows_apart->begin, hook.parameters[0].axis, {{operand.row, r}});
  hook.body.push_back(return_value(ir::index_value(begin)));
  return hook;
}

Hook AttentionHooks::chunk(const AttentionPlan::Operand& operand, std::string name) const {
  const int64_t chunk = 16 / size_bytes(operand.view->dtype);
  OperandView chunks = *operand.view;
  chunks.offset = floordiv(chunks.offset, chunk);
  for (OperandView::BatchAxis& axis : chunks.batch) axis.stride = floordiv(axis.stride, chunk);
  Hook hook;
  hook.name = std::move(name);
  hook.parameters = {Hook::index_parameter("batch", plan_.all_batches())};
  hook.returns = true;
  hook.result = DType::i32;
  const SymInt first = batch_offset(chunks, hook.parameters[0].axis);
  hook.body = {return_value(ir::cast(ir::index_value(first), DType::i32))};
  return hook;
}

Hook AttentionHooks::score(std::string name) const {
  if (tile_.holds) return of_pair(std::move(name), Keys::any, Part::scores);
  return of_keys(
      std::move(name), tile_.keys,
      [this](const Expr& raw, const SymInt& batch, const AttentionPlan::Places& places) {
        const Expr value = score_of(plan_, raw, batch, places);
        return plan_.seen ? ir::select(plan_.at(plan_.seen, batch, places), value, minus_infinity())
                          : value;
      },
      minus_infinity());
}

Hook AttentionHooks::score_inside(std::string name) const {
  if (tile_.holds) return of_pair(std::move(name), Keys::inside, Part::scores);
  return of_keys(
      std::move(name), tile_.keys,
      [this](const Expr& raw, const SymInt& batch, const AttentionPlan::Places& places) {
        return score_of(plan_, raw, batch, places);
      },
      nullptr);
}

Hook AttentionHooks::hold_score(std::string name) const {
  return of_pair(std::move(name), Keys::any, Part::words);
}

Hook AttentionHooks::hold_inside(std::string name) const {
  return of_pair(std::move(name), Keys::inside, Part::words);
}

Expr AttentionHooks::score_of_pair(Keys keys, const Expr& raw, const SymInt& batch,
                                   const AttentionPlan::Places& places, const SymInt& first,
                                   const SymInt& column, const Expr& small) const {
  Expr value = raw;
  if (!plan_.is_scaled) {
    const Expr score = score_by_columns(plan_, first, column, small);
    value = with_variable(plan_.at(score, batch, places), plan_.raw, raw);
  }
  if (keys == Keys::inside || !plan_.seen) return value;
  return ir::select(plan_.at(plan_.seen, batch, places), value, minus_infinity());
}

HeldWords AttentionHooks::held_words() const {
  HeldWords words;
  if (!tile_.holds) return words;
  const bool by_lane = !plan_.all_keys.divisible_by(kPair);
  const SymInt batch = SymInt::axis("batch", plan_.all_batches()),
               query = SymInt::axis("q", plan_.all_queries), v = SymInt::axis("v", kPair),
               keys = SymInt::axis("k", floordiv(plan_.all_keys, by_lane ? 1 : kPair)),
               first = by_lane ? keys : keys * kPair, column = by_lane ? SymInt(0) : v;
  const auto loads_of = [&](Keys of) {
    const Expr value =
        score_of_pair(of, ir::read(plan_.raw), batch,
                      {{plan_.query, query}, {plan_.key, first + column}}, first, column, nullptr);
    return HeldLoads(value, {v, keys, query, by_lane});
  };
  if (!plan_.bounds_are_all) {
    const HeldLoads loads = loads_of(Keys::any);
    words = {loads.words(), 0, loads.words_apart(), loads.words_of_distances()};
  }
  if (!plan_.is_scaled) {
    const HeldLoads loads = loads_of(Keys::inside);
    // Only what both share is known to be of distances, whichever is asked for.
    words.distances = plan_.bounds_are_all ? loads.words_of_distances()
                                           : std::min(words.distances, loads.words_of_distances());
    words.inside = loads.words();
    words.apart = std::max(words.apart, loads.words_apart());
  }
  return words;
}

Hook AttentionHooks::of_pair(std::string name, Keys of, Part part) const {
  const SymInt& keys = plan_.all_keys;
  const SymInt pairs = ir::ceildiv(round_up_to(keys, std::max(tile_.block_k, kPair)), kPair);
  const HeldWords words = held_words();
  const int64_t held_words = of == Keys::any ? words.score : words.inside;
  Hook hook;
  hook.name = std::move(name);
  const SymInt queries = round_up_to(plan_.all_queries, std::max<int64_t>(tile_.block_q, 16));
  hook.parameters = {Hook::index_parameter("batch", plan_.all_batches()),
                     passed_index("query", queries - kRows), passed_index("row", kRows + 1),
                     passed_index("pair", pairs), passed_index("column", tile_.block_k / kPair)};
  const SymInt batch = hook.parameters[0].axis,
               query = hook.parameters[1].axis + hook.parameters[2].axis,
               pair = hook.parameters[3].axis, column = hook.parameters[4].axis,
               v = SymInt::axis("v", kPair);
  Variable held, values;
  Expr small;
  if (part == Part::scores && !plan_.is_scaled && small_products(plan_)) {
    hook.parameters.push_back(passed_index("small", 2));
    small = ir::index_less(0, hook.parameters.back().axis);
  }
  if (held_words > 0) {
    // The source keeps the words of either hook in one array.
    hook.parameters.push_back(Hook::array_parameter(
        "held", DType::u32, std::max(words.score, words.inside), part == Part::words));
    held = hook.parameters.back().array;
  }
  if (part == Part::scores) {
    hook.parameters.push_back(Hook::array_parameter("values", DType::f32, kPair, true));
    values = hook.parameters.back().array;
  }
  const SymInt q = clamped_axis(hook.body, "q", query, plan_.all_queries);
  const auto value_at = [&](const SymInt& key) {
    const Expr raw = ir::read(plan_.raw);
    return score_of_pair(of, raw, batch, {{plan_.query, q}, {plan_.key, key}}, pair * kPair,
                         column * kPair + v, small);
  };
  const auto stored = [&](const Expr& value, const SymInt& lane) {
    const Sink sink = {-1, values, v, with_variable(value, plan_.raw, ir::element(values, v))};
    return vectorize({sink}, lane);
  };
  const bool may_end = of == Keys::any && !(round_up_to(keys, tile_.block_k) == keys);
  const auto no_key = [&] { return Block{set_element(values, v, minus_infinity())}; };
  const auto loads_of = [&](const Expr& value, const HeldLoads::Axes& axes) {
    HeldLoads loads(value, axes);
    TCC_CHECK(held_words == 0 || loads.words() == held_words, "scores load ", loads.words(),
              " words, not ", held_words);
    return loads;
  };
  if (!keys.divisible_by(kPair)) {
    const SymInt number = (pair + column) * kPair + v, key = SymInt::axis("k", keys);
    Block lane, none;
    if (!key.is_const()) lane.push_back(let_index(key, number));
    const Expr value = value_at(key);
    const HeldLoads loads = loads_of(value, {v, key, q, true});
    if (part == Part::words) {
      append(lane, loads.load(held));
      // Where there is no such key the words are 0.
      for (int64_t word = 0; word < held_words; ++word)
        hook.body.push_back(set_element(held, word, ir::constant_int(DType::u32, 0)));
    } else {
      append(lane, stored(held_words > 0 ? loads.read(value, held) : value, 0));
      none = no_key();
    }
    if (of == Keys::any)
      lane = {branch(ir::index_less(number, keys), std::move(lane), std::move(none))};
    hook.body.push_back(loop(v, std::move(lane), true));
    return hook;
  }
  const SymInt group = SymInt::axis("k", floordiv(keys, kPair));
  Block body, none;
  if (!group.is_const()) body.push_back(let_index(group, pair + column));
  const Expr value = value_at(group * kPair + v);
  const HeldLoads loads = loads_of(value, {v, group, q});
  if (part == Part::words) {
    append(body, loads.load(held));
    for (int64_t word = 0; word < held_words; ++word)
      none.push_back(set_element(held, word, ir::constant_int(DType::u32, 0)));
  } else {
    append(body, stored(held_words > 0 ? loads.read(value, held) : value, v));
    none.push_back(loop(v, no_key(), true));
  }
  if (may_end)
    hook.body.push_back(branch(ir::index_less(pair + column, floordiv(keys, kPair)),
                               std::move(body), std::move(none)));
  else
    append(hook.body, std::move(body));
  return hook;
}

Hook AttentionHooks::weight(std::string name, int64_t keys) const {
  return of_keys(
      std::move(name), keys,
      [this](const Expr& value, const SymInt& batch, const AttentionPlan::Places& places) {
        return with_variable(plan_.at(plan_.weight, batch, places), plan_.exponential, value);
      },
      zero_of(DType::f32));
}

Hook AttentionHooks::of_keys(std::string name, int64_t width, const ValueOf& value_of,
                             const Expr& others) const {
  const SymInt& keys = plan_.all_keys;
  Hook hook;
  hook.name = std::move(name);
  hook.parameters = {Hook::index_parameter("batch", plan_.all_batches()),
                     passed_index("query", round_up_to(plan_.all_queries, tile_.block_q)),
                     passed_index("key", round_up_to(keys, std::max(tile_.block_k, width))),
                     Hook::array_parameter("values", DType::f32, width, true)};
  const SymInt batch = hook.parameters[0].axis, query = hook.parameters[1].axis,
               first = hook.parameters[2].axis, v = SymInt::axis("v", width);
  const Variable& values = hook.parameters[3].array;
  Block body;
  const SymInt q = clamped_axis(body, "q", query, plan_.all_queries);
  // The value of the key, which is one.
  const auto value_at = [&](const SymInt& key, const SymInt& lane) {
    Sink sink;
    sink.array = values;
    sink.offset = lane;
    sink.value = value_of(ir::element(values, lane), batch, {{plan_.query, q}, {plan_.key, key}});
    return sink;
  };
  const auto none = [&](const SymInt& lane) { return Block{set_element(values, lane, others)}; };
  if (keys.divisible_by(width)) {
    const SymInt group = SymInt::axis("k", floordiv(keys, width));
    Block all;
    if (!group.is_const()) all.push_back(let_index(group, floordiv(first, width)));
    append(all, vectorize({value_at(group * width + v, v)}, v));
    if (!others || round_up_to(keys, tile_.block_k) == keys)
      append(body, std::move(all));
    else
      body.push_back(branch(ir::index_less(first, keys), std::move(all), {loop(v, none(v), true)}));
  } else {
    const SymInt key = SymInt::axis("k", keys);
    Block lane;
    if (!key.is_const()) lane.push_back(let_index(key, first + v));
    append(lane, vectorize({value_at(key, v)}, 0));
    body.push_back(
        loop(v,
             others ? Block{branch(ir::index_less(first + v, keys), std::move(lane), none(v))}
                    : std::move(lane),
             true));
  }
  hook.body = std::move(body);
  return hook;
}

Hook AttentionHooks::key_range(std::string name) const {
  Hook hook;
  hook.name = std::move(name);
  hook.parameters = {Hook::index_parameter("batch", plan_.all_batches()),
                     passed_index("tile", ir::ceildiv(plan_.all_queries, tile_.block_q)),
                     Hook::array_parameter("range", DType::i32, 4, true)};
  const SymInt batch = hook.parameters[0].axis, first = hook.parameters[1].axis * tile_.block_q;
  const Variable& range = hook.parameters[2].array;
  if (!plan_.bounds_of_queries) {
    const SymInt last = ir::min(first + (tile_.block_q - 1), plan_.all_queries - 1);
    hook.body = set_range(range, plan_.keys_of(batch, first, last));
    return hook;
  }
  hook.body = set_range(range, {plan_.all_keys, 0, 0, plan_.all_keys});
  const SymInt i = SymInt::axis("i", tile_.block_q), q = SymInt::axis("q", plan_.all_queries);
  Block each;
  if (!q.is_const()) each.push_back(let_index(q, ir::min(first + i, plan_.all_queries - 1)));
  const KeyRange of_query = plan_.keys_of(batch, q);
  const auto i32 = [](const char* hint) { return ir::new_variable(hint, DType::i32); };
  const Variable begin = i32("first"), end = i32("end");
  each.push_back(declare(begin, index_number(of_query.first)));
  each.push_back(declare(end, index_number(of_query.end)));
  const auto join = [&](int64_t at, ir::Fn fn, const Expr& value) {
    each.push_back(set_element(range, at, ir::call(fn, {ir::element(range, at), value})));
  };
  // A query that sees no key bounds nothing.
  const Expr any = ir::call(ir::Fn::lt, {ir::read(begin), ir::read(end)});
  join(0, ir::Fn::minimum, ir::select(any, ir::read(begin), index_number(plan_.all_keys)));
  join(1, ir::Fn::maximum, ir::select(any, ir::read(end), index_number(0)));
  join(2, ir::Fn::maximum, index_number(of_query.inside_first));
  join(3, ir::Fn::minimum, index_number(of_query.inside_end));
  append(hook.body, i.is_const() ? std::move(each) : Block{loop(i, std::move(each))});
  return hook;
}

Hook AttentionHooks::key_range_of_query(std::string name) const {
  Hook hook;
  hook.name = std::move(name);
  hook.parameters = {Hook::index_parameter("batch", plan_.all_batches()),
                     passed_index("query", round_up_to(plan_.all_queries, tile_.block_q)),
                     Hook::array_parameter("range", DType::i32, 4, true)};
  const SymInt q = clamped_axis(hook.body, "q", hook.parameters[1].axis, plan_.all_queries);
  append(hook.body, set_range(hook.parameters[2].array, plan_.keys_of(hook.parameters[0].axis, q)));
  return hook;
}

Hook AttentionHooks::epilogue(std::string name) const {
  const int64_t width = tile_.segment, depths = plan_.v.depths;
  Hook hook;
  hook.name = std::move(name);
  hook.parameters = {Hook::index_parameter("batch", plan_.all_batches()),
                     passed_index("row", round_up_to(plan_.all_queries, tile_.block_q)),
                     passed_index("part", ceil_div(tile_.depth_v, width)),
                     Hook::array_parameter("acc", DType::f32, width, false)};
  const SymInt batch = hook.parameters[0].axis, row = hook.parameters[1].axis,
               part = hook.parameters[2].axis, v = SymInt::axis("v", width);
  Block body;
  const SymInt q = SymInt::axis("q", plan_.all_queries);
  if (!q.is_const()) body.push_back(let_index(q, row));
  const auto store_at = [&](const SymInt& depth, const SymInt& lane) {
    const AttentionPlan::Places places = {{plan_.query, q}, {plan_.v.depth, depth}};
    const Expr acc = result_of(plan_, ir::element(hook.parameters[3].array, v));
    return vectorize(plan_.sinks(plan_.outputs, plan_.acc, acc, batch, places), lane);
  };
  std::vector<Expr> guards = {ir::index_less(row, plan_.all_queries)};
  if (depths % width == 0) {
    const SymInt group = SymInt::axis("g", depths / width);
    guards.push_back(ir::index_less(part, depths / width));
    if (!group.is_const()) body.push_back(let_index(group, part));
    append(body, store_at(group * width + v, v));
  } else {
    const SymInt depth = SymInt::axis("e", depths);
    Block lane;
    if (!depth.is_const()) lane.push_back(let_index(depth, part * width + v));
    append(lane, store_at(depth, 0));
    body.push_back(
        loop(v, {branch(ir::index_less(part * width + v, depths), std::move(lane))}, true));
  }
  hook.body = guarded(guards, std::move(body));
  return hook;
}

Hook AttentionHooks::store_sum(std::string name) const {
  Hook hook;
  hook.name = std::move(name);
  hook.parameters = {Hook::index_parameter("batch", plan_.all_batches()),
                     passed_index("row", round_up_to(plan_.all_queries, tile_.block_q)),
                     Hook::array_parameter("value", DType::f32, 1, false)};
  const SymInt batch = hook.parameters[0].axis, row = hook.parameters[1].axis;
  const SymInt q = SymInt::axis("q", plan_.all_queries);
  Block body;
  if (!q.is_const()) body.push_back(let_index(q, row));
  const Expr sum = ir::element(hook.parameters[2].array, 0);
  append(body, vectorize(plan_.sinks(plan_.sums, plan_.sum, sum, batch, {{plan_.query, q}}), 0));
  hook.body = guarded(std::vector{ir::index_less(row, plan_.all_queries)}, std::move(body));
  return hook;
}

Expr result_of(const AttentionPlan& plan, const Expr& acc) {
  if (plan.all_keys.is_const() || plan.all_keys.range().lo > 0) return acc;
  return ir::select(ir::index_less(0, plan.all_keys), acc, zero_of(DType::f32));
}

double operand_slots(const AttentionPlan::Operand& operand) {
  return element_work(std::vector{operand.element}, operand.depth).slots;
}

double score_slots(const AttentionPlan& plan) {
  std::vector<Expr> values;
  if (!plan.is_scaled) values.push_back(plan.score);
  if (plan.weight) values.push_back(plan.weight);
  return values.empty() ? 0 : element_work(values, plan.key).slots;
}

bool calls(const Expr& value, std::initializer_list<ir::Fn> fns) {
  bool found = false;
  ir::visit(value, [&](const Expr& node) {
    found |= node->kind == ir::ExprNode::Kind::call && std::ranges::count(fns, node->fn) > 0;
  });
  return found;
}

void loosen_scores(Kernel& kernel, const AttentionPlan& plan, const char* tanh) {
  const auto has_tanh = [](const Expr& e) { return calls(e, {ir::Fn::tanh}); };
  const auto is_stored = [&](const std::vector<Stored>& stored) {
    return std::ranges::any_of(stored, [&](const Stored& s) { return has_tanh(s.value); });
  };
  const auto is_operand = [&](const AttentionPlan::Operand& o) { return has_tanh(o.element); };
  if (!has_tanh(plan.score) || (plan.seen && has_tanh(plan.seen)) || is_stored(plan.outputs) ||
      is_stored(plan.sums) || (plan.weight && has_tanh(plan.weight)) || is_operand(plan.q) ||
      is_operand(plan.k) || is_operand(plan.v))
    return;
  kernel.defines.push_back({"tcc_tanh_f32", tanh});
}

}  // namespace tcc::sched
