#include "scheduler/templates/attention_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "scheduler/aligned_clamps.h"
#include "scheduler/axis_use.h"
#include "scheduler/templates/attention_region.h"
#include "scheduler/templates/common.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using ir::ExprNode;
using ir::Value;

// Ranges without an end, or as good as none, tell nothing of lengths.
constexpr int64_t kNoEnd = int64_t{1} << 20;

// q, k and v have at most so many elements a row: their tiles stay in registers and shared memory.
constexpr int64_t kDeepest = 256;

// Returns the size that estimates count with; one that comes at run time is not 0.
int64_t usual_size(const SymInt& size) {
  return size.is_const() ? size.value() : std::max<int64_t>(1, size.usual());
}

// Takes constant factors off an element: (value, factor).
std::pair<Expr, double> take_factor_off(Expr element) {
  double factor = 1;
  while (element->kind == ExprNode::Kind::call) {
    const auto& args = element->args;
    const auto number = [&](size_t k) { return args[k]->kind == ExprNode::Kind::constant; };
    if (element->fn == ir::Fn::mul && number(1)) {
      factor *= args[1]->number;
      element = args[0];
    } else if (element->fn == ir::Fn::mul && number(0)) {
      factor *= args[0]->number;
      element = args[1];
    } else if (element->fn == ir::Fn::div && number(1)) {
      factor /= args[1]->number;
      element = args[0];
    } else {
      break;
    }
  }
  return {std::move(element), factor};
}

// Several constant factors of one thing become one.
Expr with_one_factor(const Expr& e) {
  const auto is_factored = [](const Expr& node) {
    return node->kind == ExprNode::Kind::call &&
           (node->fn == ir::Fn::mul || node->fn == ir::Fn::div) && node->dtype == DType::f32;
  };
  return ir::rewrite(e, [&](const Expr& node) -> Expr {
    if (!is_factored(node)) return nullptr;
    const auto [inner, factor] = take_factor_off(node);
    const double size = std::abs(factor);
    if (inner == node || !(size > 1e-18 && size < 1e18)) return nullptr;
    const Expr value = with_one_factor(inner);
    return factor == 1 ? value : ir::mul(value, ir::constant(DType::f32, factor));
  });
}

// The loads of the largest buffers.
std::vector<Expr> main_loads(const Region& region, const Expr& element) {
  std::vector<Expr> loads;
  const auto size_of = [&](const Expr& load) {
    return region.layout(region.inputs[static_cast<size_t>(load->buffer)]).elements.usual();
  };
  const Expr largest = main_load(region, element);
  ir::visit(element, [&](const Expr& e) {
    if (e->kind == ExprNode::Kind::load && size_of(e) == size_of(largest)) loads.push_back(e);
  });
  return loads;
}

// The widest vector along `depth`, at most 16 bytes and 8 elements, of which all main loads are
// aligned vectors in memory; else the widest of which one is.
int64_t widest_vector(const Region& region, const Expr& element, const SymInt& depth,
                      int64_t extent) {
  const Expr load = depth.is_const() ? nullptr : main_load(region, element);
  if (!load) return 1;
  int64_t of_some = 1;
  for (int64_t width = std::min(8, 16 / size_bytes(load->stored)); width > 1; width /= 2) {
    if (extent % width != 0) continue;
    const SymInt group = SymInt::axis("g", extent / width), lane = SymInt::axis("v", width);
    std::vector<Expr> values = {ir::rewrite(
        element, [](const Expr&) { return Expr(); },
        [&](const SymInt& index) { return index.substitute(depth, group * width + lane); })};
    align_clamps(values, lane);
    const auto is_vector = [&](const Expr& e) {
      return aligned_vector(e->index, lane).has_value();
    };
    const std::vector<Expr> loads = main_loads(region, values.front());
    if (std::ranges::all_of(loads, is_vector)) return width;
    if (of_some == 1 && std::ranges::any_of(loads, is_vector)) of_some = width;
  }
  return of_some;
}

// The element's place as one stride per axis, where it is a load.
std::optional<OperandView> view_of(const Expr& element, const AttentionPlan& plan,
                                   const SymInt& row, const SymInt& depth) {
  if (element->kind != ExprNode::Kind::load) return std::nullopt;
  std::vector<SymInt> axes = plan.digits, strides;
  axes.insert(axes.end(), {row, depth});
  OperandView view;
  view.offset = element->index;
  for (const SymInt& axis : axes) {
    const std::optional<SymInt> stride = stride_along(element->index, axis);
    if (!stride) return std::nullopt;
    view.offset = view.offset - axis * *stride;
    strides.push_back(*stride);
  }
  if (!is_of_sizes(view.offset) || view.offset.range().lo < 0) return std::nullopt;
  view.buffer = element->buffer;
  view.dtype = element->stored;
  view.k_stride = depth.is_const() ? 1 : strides.back();
  strides.pop_back();
  view.free_stride = strides.back();
  strides.pop_back();
  view.batch = batch_axes(plan.extents, strides);
  return view;
}

// The rows of an element that is a load, where it is one of neighbours along the depth.
std::optional<AttentionPlan::Operand::Rows> rows_of(const Expr& element, const SymInt& depth) {
  if (depth.is_const()) return std::nullopt;
  const SymInt begin = element->index - depth;
  if (coefficient(element->index, depth) != 1 || begin.uses(depth.as_atom())) return std::nullopt;
  AttentionPlan::Operand::Rows rows;
  rows.buffer = element->buffer;
  rows.begin = begin;
  const int64_t bytes = size_bytes(element->stored);
  rows.alignment = std::min<int64_t>(bytes, 16);
  for (int64_t alignment = 16; alignment > bytes; alignment /= 2)
    if (begin.divisible_by(alignment / bytes)) {
      rows.alignment = alignment;
      break;
    }
  return rows;
}

// Splits scores into conditions, a scale, and what hooks compute.
void analyse_score(AttentionPlan& plan, const Expr& score) {
  const MaskedScore masked = take_masks_off(score);
  plan.score = with_one_factor(masked.value);
  plan.seen = masked.seen;
  plan.bounds_of_queries = bounds_depend_on_queries(plan.seen, plan.query, plan.key, plan.all_keys);
  const auto factor = factor_of(masked.value, plan.raw);
  plan.is_scaled = factor && *factor > 0;
  plan.scale = plan.is_scaled ? *factor : 1;
  if (!plan.bounds_of_queries || !plan.is_scaled) return;
  const KeyRange range = keys_seen(plan.seen, plan.query, plan.key, plan.all_keys);
  plan.bounds_are_all = range.first == range.inside_first && range.end == range.inside_end;
}

}  // namespace

OrRefusal<AttentionPlan> plan_attention(const Region& region) {
  AttentionPlan plan;
  plan.raw = ir::new_variable("raw", DType::f32);
  plan.acc = ir::new_variable("acc", DType::f32);
  plan.sum = ir::new_variable("sum", DType::f32);
  plan.exponential = ir::new_variable("weight", DType::f32);
  OrRefusal<AttentionParts> read =
      read_attention(region, {plan.raw, plan.acc, plan.sum, plan.exponential});
  if (!read) return read.refusal();
  AttentionParts& parts = *read;
  if (std::max(parts.depths, parts.depths_v) > kDeepest)
    return Refusal{str("attention of depths ", parts.depths, " and ", parts.depths_v,
                       ", of which one is more than ", kDeepest)};
  plan.digits = parts.digits;
  for (const SymInt& digit : parts.digits) {
    plan.extents.push_back(ir::extent_of(digit));
    plan.batch.push_back(usual_size(plan.extents.back()));
  }
  plan.query = parts.query;
  plan.key = parts.key;
  plan.all_queries = parts.queries;
  plan.all_keys = parts.keys;
  plan.queries = usual_size(parts.queries);
  plan.keys = usual_size(parts.keys);
  plan.safe = parts.safe;
  if (parts.weight->kind != ExprNode::Kind::var) plan.weight = parts.weight;
  plan.outputs = std::move(parts.outputs);
  plan.sums = std::move(parts.sums);

  const auto [q, factor_q] = take_factor_off(parts.q);
  const auto [k, factor_k] = take_factor_off(parts.k);
  const auto operand = [&](const Expr& element, const ir::Value* value, const SymInt& row,
                           const SymInt& rows, const SymInt& depth, int64_t depths) {
    AttentionPlan::Operand made;
    made.element = element;
    made.row = row;
    made.depth = depth;
    made.rows = rows;
    made.depths = depths;
    made.view = view_of(element, plan, row, depth);
    made.dtype = made.view ? made.view->dtype : value->dtype();
    // Elements that are converted on the way are computed.
    const bool is_strided = made.view && made.view->free_stride.is_const();
    if (!is_strided && element->kind == ExprNode::Kind::load && element->stored == made.dtype)
      made.rows_apart = rows_of(element, depth);
    made.vector = widest_vector(region, element, depth, depths);
    return made;
  };
  plan.q = operand(q, parts.q_value, plan.query, plan.all_queries, parts.depth, parts.depths);
  plan.k = operand(k, parts.k_value, plan.key, plan.all_keys, parts.depth, parts.depths);
  plan.v = operand(parts.v, parts.v_value, plan.key, plan.all_keys, parts.depth_v, parts.depths_v);
  const double factor = factor_q * factor_k;
  const Expr raw = ir::read(plan.raw);
  const Expr product = factor == 1 ? raw : ir::mul(raw, ir::constant(DType::f32, factor));
  analyse_score(plan, with_variable(parts.score, plan.raw, product));
  return plan;
}

std::vector<LayoutWish> wishes_of_rows(const Region& region, const AttentionPlan& plan) {
  std::vector<LayoutWish> wishes;
  for (const AttentionPlan::Operand* operand : {&plan.q, &plan.k, &plan.v}) {
    if (!operand->view || operand->view->k_stride.is(1)) continue;
    const Value* value = region.inputs[static_cast<size_t>(operand->view->buffer)];
    if (value->is_constant()) continue;
    const Layout& layout = region.layout(value);
    std::vector<int> order = layout.order();
    const auto is_depth = [&](int dim) {
      const auto at = static_cast<size_t>(dim);
      return layout.strides[at] == operand->view->k_stride &&
             value->shape()[at].is(operand->depths);
    };
    const auto depth = std::ranges::find_if(order, is_depth);
    if (depth == order.end()) continue;
    std::rotate(depth, depth + 1, order.end());
    wishes.push_back({value, Layout::ordered(value->shape(), order)});
  }
  return wishes;
}

Expr with_variable(const Expr& e, const ir::Variable& variable, const Expr& value) {
  return ir::rewrite(e, [&](const Expr& node) -> Expr {
    return node->kind == ExprNode::Kind::var && node->variable == variable ? value : nullptr;
  });
}

SymInt AttentionPlan::at(const SymInt& index, const SymInt& batch_number,
                         const Places& places) const {
  const std::vector<SymInt> numbers = digits_of(batch_number);
  return index.substitute([&](const ir::AtomPtr& atom) -> std::optional<SymInt> {
    if (atom->kind != ir::Atom::Kind::axis) return std::nullopt;
    for (size_t i = 0; i < numbers.size(); ++i)
      if (*digits[i].as_atom() == *atom) return numbers[i];
    for (const auto& [axis, by] : places)
      if (!axis.is_const() && *axis.as_atom() == *atom) return by;
    return std::nullopt;
  });
}

Expr AttentionPlan::at(const Expr& e, const SymInt& batch_number, const Places& places) const {
  return ir::rewrite(
      e, [](const Expr&) { return Expr(); },
      [&](const SymInt& index) { return at(index, batch_number, places); });
}

std::vector<Sink> AttentionPlan::sinks(const std::vector<Stored>& stored,
                                       const ir::Variable& variable, const Expr& value,
                                       const SymInt& batch_number, const Places& places) const {
  std::vector<Sink> sinks;
  for (const Stored& s : stored)
    sinks.push_back({s.buffer,
                     {},
                     at(s.offset, batch_number, places),
                     with_variable(at(s.value, batch_number, places), variable, value)});
  return sinks;
}

int64_t AttentionPlan::batches() const {
  return std::accumulate(batch.begin(), batch.end(), int64_t{1}, std::multiplies<>());
}

AttentionPlan AttentionPlan::at_length(int64_t most) const {
  const auto at_most = [&](const SymInt& size) {
    return size.substitute([&](const ir::AtomPtr& atom) -> std::optional<SymInt> {
      if (atom->kind != ir::Atom::Kind::symbol) return std::nullopt;
      const int64_t usual = std::max<int64_t>(1, atom->usual);
      return atom->range.hi > kNoEnd ? usual : std::max(usual, std::min(atom->range.hi, most));
    });
  };
  AttentionPlan plan = *this;
  plan.all_queries = at_most(all_queries);
  plan.all_keys = at_most(all_keys);
  plan.queries = plan.all_queries.value();
  plan.keys = plan.all_keys.value();
  if (seen)
    plan.seen = ir::rewrite(
        seen, [](const Expr&) { return Expr(); }, at_most);
  return plan;
}

int64_t AttentionPlan::sharing() const {
  // Open dims are not counted: a part of the batches that share keys shares them, too.
  const auto counted = [](const SymInt& extent) { return extent.is_const() ? extent.value() : 1; };
  int64_t sharing = 1;
  for (const SymInt& extent : extents) sharing *= counted(extent);
  AxisUse use;
  for (const Operand* operand : {&k, &v}) {
    if (operand->view) {
      for (const OperandView::BatchAxis& axis : operand->view->batch)
        sharing = std::gcd(sharing, counted(axis.inside));
      continue;
    }
    int64_t inside = 1;
    for (size_t i = digits.size(); i-- > 0 && extents[i].is_const();) {
      if (use.of(operand->element).free.contains(digits[i].as_atom())) break;
      inside *= batch[i];
    }
    sharing = std::gcd(sharing, inside);
  }
  return sharing;
}

std::vector<SymInt> AttentionPlan::digits_of(const SymInt& batch_number) const {
  return ir::delinearize(batch_number, extents);
}

KeyRange AttentionPlan::keys_of(const SymInt& batch_number, const SymInt& first_query,
                                const SymInt& last_query) const {
  KeyRange range = keys_seen(seen, query, key, first_query, last_query, all_keys);
  for (SymInt* bound : {&range.first, &range.end, &range.inside_first, &range.inside_end})
    *bound = at(*bound, batch_number, {});
  return range;
}

KeyRange AttentionPlan::keys_of(const SymInt& batch_number, const SymInt& query_number) const {
  KeyRange range = keys_seen(seen, query, key, all_keys);
  for (SymInt* bound : {&range.first, &range.end, &range.inside_first, &range.inside_end})
    *bound = at(*bound, batch_number, {{query, query_number}});
  return range;
}

int64_t AttentionPlan::key_tiles(const SymInt& batch_number, int64_t first_query,
                                 int64_t last_query, int64_t block_k) const {
  const KeyRange range = keys_of(batch_number, first_query, last_query);
  const bool is_known = is_of_sizes(range.first) && is_of_sizes(range.end);
  const int64_t begin = is_known ? range.first.usual() : 0,
                end = is_known ? range.end.usual() : keys;
  return std::max<int64_t>(0, (end + block_k - 1) / block_k - begin / block_k);
}

double AttentionPlan::share_of_tiles(int64_t block_q, int64_t block_k) const {
  constexpr int64_t kSamples = 16;
  const int64_t tiles = (queries + block_q - 1) / block_q, all = (keys + block_k - 1) / block_k;
  if (!seen || all == 0) return 1;
  double share = 0, samples = 0;
  for (int64_t sample = 0; sample < std::min(tiles, kSamples); ++sample) {
    const int64_t tile = sample * tiles / std::min(tiles, kSamples);
    const int64_t first = tile * block_q, last = std::min(first + block_q, queries) - 1;
    const int64_t walked = key_tiles(batches() / 2, first, last, block_k);
    share += static_cast<double>(walked) / static_cast<double>(all);
    ++samples;
  }
  return samples == 0 ? 1 : share / samples;
}

exec::Amount AttentionPlan::flops() const {
  return {2 * static_cast<double>(q.depths + v.depths) * share_of_tiles(1, 1),
          all_batches() * all_queries * all_keys};
}

}  // namespace tcc::sched
