#include "scheduler/templates/attention_list.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "scheduler/axis_use.h"
#include "scheduler/cost.h"
#include "scheduler/templates/common.h"
#include "scheduler/vectorize.h"
#include "scheduler/work.h"
#include "support/checked.h"

namespace tcc::sched {
namespace {

using ir::ExprNode;
using ir::Fn;

constexpr int kListingThreads = 128;
constexpr int64_t kEntryRows = 32;               // of an entry, at most
constexpr int64_t kThreadKeys = 16, kLanes = 8;  // threads of an entry, and keys of each, at most
constexpr int64_t kRowsTogether = 8;             // rows whose masks a thread has on their way

bool uses_raw(const Expr& e, const ir::Variable& raw) {
  bool found = false;
  ir::visit(e, [&](const Expr& node) {
    found |= node->kind == ExprNode::Kind::var && node->variable == raw;
  });
  return found;
}

bool loads_for_keys(const Expr& e, const SymInt& key) {
  bool found = false;
  ir::visit(e, [&](const Expr& node) {
    found |= node->kind == ExprNode::Kind::load && node->index.uses(key.as_atom());
  });
  return found;
}

bool is_positive_number(const Expr& e) {
  return e->kind == ExprNode::Kind::constant && e->number > 0 && std::isfinite(e->number);
}

// A condition that holds wherever a query may see a key, of what is loaded for the key: that of the
// score, and that what is added to it is not -inf. Null where nothing is loaded.
Expr condition_of(const AttentionPlan& plan) {
  if (plan.key.is_const()) return nullptr;
  Expr all;
  const auto add = [&](const Expr& condition) {
    if (loads_for_keys(condition, plan.key))
      all = all ? ir::call(Fn::logical_and, {all, condition}) : condition;
  };
  if (plan.seen) add(plan.seen);
  const Expr none = ir::constant(DType::f32, -std::numeric_limits<double>::infinity());
  Expr score = plan.score;
  for (bool peels = true; peels && score->kind == ExprNode::Kind::call;) {
    peels = false;
    for (const size_t x : {size_t{0}, size_t{1}}) {
      if (score->args.size() != 2 || (x == 1 && score->fn == Fn::div)) break;
      const Expr inner = score->args[x], other = score->args[1 - x];
      if (uses_raw(other, plan.raw)) continue;
      if (score->fn == Fn::add)
        add(ir::call(Fn::logical_not, {ir::call(Fn::eq, {other, none})}));
      else if ((score->fn != Fn::mul && score->fn != Fn::div) || !is_positive_number(other))
        continue;
      score = inner;
      peels = true;
      break;
    }
  }
  return all;
}

struct Listed {
  std::vector<size_t> digits;
  bool by_query = false;
};
Listed listed_by(const AttentionPlan& plan, const Expr& condition) {
  AxisUse use;
  const AxisSet axes = use.of(condition).free;
  const auto depends = [&](const SymInt& axis) {
    return !axis.is_const() && axes.contains(axis.as_atom());
  };
  Listed listed;
  for (size_t i = 0; i < plan.digits.size(); ++i)
    if (depends(plan.digits[i])) listed.digits.push_back(i);
  listed.by_query = depends(plan.query);
  return listed;
}

// Elements of the condition: of all queries and keys of the batches that differ in it.
double elements_of(const AttentionPlan& plan, const Expr& condition) {
  const Listed listed = listed_by(plan, condition);
  auto elements = static_cast<double>(plan.keys * (listed.by_query ? plan.queries : 1));
  for (const size_t digit : listed.digits) elements *= static_cast<double>(plan.batch[digit]);
  return elements;
}

// Bytes of what the condition loads, each element once.
double bytes_of(const Expr& condition) {
  AxisUse use;
  double bytes = 0;
  ir::visit(condition, [&](const Expr& node) {
    if (node->kind != ExprNode::Kind::load) return;
    double elements = 1;
    for (const ir::AtomPtr& axis : use.of(node).free)
      elements *= static_cast<double>(axis->args[0].usual());
    bytes += elements * size_bytes(node->stored);
  });
  return bytes;
}

}  // namespace

bool AttentionTileList::is_possible(const AttentionPlan& plan) {
  constexpr int64_t kLeastQueries = 64, kLeastOfAdded = 1024;
  return plan.all_batches().is_const() && plan.all_queries.is_const() && plan.all_keys.is_const() &&
         condition_of(plan) && plan.queries >= (expected(plan) > 0 ? kLeastQueries : kLeastOfAdded);
}

double AttentionTileList::expected(const AttentionPlan& plan) {
  return plan.seen && loads_for_keys(plan.seen, plan.key) ? 0.06 : 0;
}

double AttentionTileList::seconds(const AttentionPlan& plan, const Target& target) {
  constexpr double kJoined = 3;  // issue slots of an element that joins its entry
  const Expr condition = condition_of(plan);
  const double slots = element_work({&condition, 1}, plan.key).slots + kJoined;
  return launch_seconds(target) +
         std::max(elements_of(plan, condition) * slots / operation_rate(target),
                  bytes_of(condition) / target.bandwidth);
}

AttentionTileList::AttentionTileList(const Region& region, const AttentionPlan& plan,
                                     const AttentionTile& tile)
    : region_(region), plan_(plan), tile_(tile), seen_(condition_of(plan)) {
  TCC_CHECK(seen_, "a list of tiles that nothing empties");
  const Listed listed = listed_by(plan, seen_);
  std::vector<SymInt> extents;
  for (const size_t digit : listed.digits) {
    digits_.push_back(plan.digits[digit]);
    extents.push_back(plan.extents[digit]);
  }
  batches_ = ir::product(extents);
  by_query_ = listed.by_query;
  rows_ = by_query_ ? std::gcd(kEntryRows, tile.block_q) : 1;
  of_thread_ = std::gcd(kThreadKeys, tile.block_k);
  lanes_ = std::gcd(tile.block_k / of_thread_, kLanes);
  keys_ = of_thread_ * lanes_;
  all_rows_ = by_query_ ? ceil_div(plan.queries, rows_) : 1;
  groups_ = ceil_div(plan.keys, keys_);
}

SymInt AttentionTileList::offset(const SymInt& batch, const SymInt& rows,
                                 const SymInt& group) const {
  std::vector<SymInt> index, extents;
  const std::vector<SymInt> numbers = plan_.digits_of(batch);
  for (size_t i = 0; i < numbers.size(); ++i)
    if (std::ranges::find(digits_, plan_.digits[i]) != digits_.end()) {
      index.push_back(numbers[i]);
      extents.push_back(plan_.extents[i]);
    }
  return (ir::linearize(index, extents) * all_rows_ + rows) * groups_ + group;
}

Hook AttentionTileList::tile_seen(std::string name, int buffer) const {
  const int64_t tiles_q = ceil_div(plan_.queries, tile_.block_q),
                tiles_k = ceil_div(plan_.keys, tile_.block_k),
                rows = by_query_ ? tile_.block_q / rows_ : 1, groups = tile_.block_k / keys_;
  Hook hook;
  hook.name = std::move(name);
  hook.parameters = {Hook::index_parameter("batch", plan_.all_batches()),
                     passed_index("query_tile", tiles_q), passed_index("key_tile", tiles_k)};
  hook.returns = true;
  hook.result = DType::i32;
  const SymInt batch = hook.parameters[0].axis, r = SymInt::axis("r", rows),
               g = SymInt::axis("g", groups), row = SymInt::axis("row", all_rows_),
               group = SymInt::axis("group", groups_);
  const Variable any = ir::new_variable("any", DType::i32);
  Block entry;
  const SymInt tile_q = by_query_ ? hook.parameters[1].axis : SymInt(0);
  if (!row.is_const()) entry.push_back(let_index(row, ir::min(tile_q * rows + r, all_rows_ - 1)));
  if (!group.is_const())
    entry.push_back(let_index(group, ir::min(hook.parameters[2].axis * groups + g, groups_ - 1)));
  entry.push_back(assign(
      any, ir::call(Fn::bitwise_or,
                    {ir::read(any), ir::load(buffer, DType::i32, offset(batch, row, group))})));
  if (!g.is_const()) entry = {loop(g, std::move(entry), true)};
  if (!r.is_const()) entry = {loop(r, std::move(entry), true)};
  hook.body = {declare(any, ir::constant_int(DType::i32, 0))};
  append(hook.body, std::move(entry));
  hook.body.push_back(return_value(ir::read(any)));
  return hook;
}

// The threads of an entry have neighbouring keys each, of all its queries.
Kernel AttentionTileList::make_list(int buffer) const {
  const SymInt entries = batches_ * all_rows_ * groups_;
  const int64_t thread_groups = ceil_div(plan_.keys, of_thread_);
  Kernel kernel = start_kernel(region_);
  kernel.name += "_tiles";
  kernel.flops = {};
  kernel.bytes = {bytes_of(seen_), 1};
  kernel.workgroup = kListingThreads;
  kernel.grid = blocks_of(entries * lanes_, kListingThreads);
  kernel.arguments.resize(region_.inputs.size());
  for (Argument& argument : kernel.arguments) argument.access = Argument::Access::read;
  const SymInt item = block_axis(kernel.grid) * kListingThreads + thread_axis(kListingThreads);
  const SymInt n = SymInt::axis("n", entries), b = SymInt::axis("b", batches_),
               row = SymInt::axis("row", all_rows_), group = SymInt::axis("group", groups_),
               lane_group = SymInt::axis("g", thread_groups), v = SymInt::axis("v", of_thread_);
  // The batch that has these digits, and 0 for the others.
  std::vector<SymInt> extents, index;
  for (const SymInt& digit : digits_) extents.push_back(ir::extent_of(digit));
  const std::vector<SymInt> numbers = ir::delinearize(b, extents);
  size_t next = 0;
  for (const SymInt& digit : plan_.digits)
    index.push_back(next < digits_.size() && digit == digits_[next] ? numbers[next++] : SymInt(0));
  const SymInt batch = ir::linearize(index, plan_.extents);

  Block body;
  // All threads arrive where those of an entry join theirs: there are some behind the last entry.
  for (const auto& [axis, number] :
       {std::pair{n, ir::min(floordiv(item, lanes_), entries - 1)},
        {group, mod(n, groups_)},
        {row, mod(floordiv(n, groups_), all_rows_)},
        {b, floordiv(n, all_rows_ * groups_)},
        {lane_group, ir::min(group * lanes_ + mod(item, lanes_), thread_groups - 1)}})
    if (!axis.is_const()) body.push_back(let_index(axis, number));
  const Variable any = ir::new_variable("any", DType::i32);
  body.push_back(declare(any, ir::constant_int(DType::i32, 0)));
  const int64_t together = std::gcd(rows_, kRowsTogether);
  const SymInt outer = SymInt::axis("o", rows_ / together), inner = SymInt::axis("i", together),
               q = SymInt::axis("q", plan_.all_queries), key = SymInt::axis("k", plan_.all_keys);
  Block of_row;
  if (!q.is_const() && by_query_)
    of_row.push_back(
        let_index(q, ir::min(row * rows_ + outer * together + inner, plan_.all_queries - 1)));
  const auto join = [&](const SymInt& k, const SymInt& lane) {
    const Expr seen = plan_.at(seen_, batch, {{plan_.query, by_query_ ? q : 0}, {plan_.key, k}});
    return vectorize_values({seen}, lane, [&](const std::vector<Expr>& values) {
      const Expr one =
          ir::select(values[0], ir::constant_int(DType::i32, 1), ir::constant_int(DType::i32, 0));
      return Block{assign(any, ir::call(Fn::bitwise_or, {ir::read(any), one}))};
    });
  };
  if (plan_.all_keys.divisible_by(of_thread_)) {
    append(of_row, join(lane_group * of_thread_ + v, v));
  } else {
    Block lane;
    if (!key.is_const())
      lane.push_back(let_index(key, ir::min(lane_group * of_thread_ + v, plan_.all_keys - 1)));
    append(lane, join(key, 0));
    of_row.push_back(loop(v, std::move(lane), true));
  }
  if (!inner.is_const()) of_row = {loop(inner, std::move(of_row), true)};
  if (!outer.is_const()) of_row = {loop(outer, std::move(of_row))};
  append(body, std::move(of_row));
  if (lanes_ > 1) body.push_back(reduce_lanes(ir::ReduceKind::max, {any}, lanes_));
  append(body, guarded(std::vector{ir::index_less(mod(item, lanes_), 1),
                                   ir::index_less(item, entries * lanes_)},
                       {store(buffer, n, ir::read(any))}));
  kernel.body = std::move(body);
  return kernel;
}

KernelSequence AttentionTileList::before(KernelSequence attention, std::string name) const {
  const int slots = static_cast<int>(start_kernel(region_).arguments.size()),
            number = slots + static_cast<int>(attention.workspaces.size()),
            inputs = static_cast<int>(region_.inputs.size());
  const SymInt entries = batches_ * all_rows_ * groups_;
  attention.workspaces.push_back({"tiles", DType::i32, entries, false});
  KernelSequence::Launch& first = attention.launches.front();
  first.kernel.hooks.push_back(
      tile_seen(std::move(name), static_cast<int>(first.kernel.arguments.size())));
  first.kernel.arguments.push_back({DType::i32, Argument::Access::read, entries, 16});
  first.buffers.push_back(number);
  Kernel list = make_list(inputs);
  list.arguments.push_back({DType::i32, Argument::Access::write, entries, 16});
  std::vector<int> buffers(static_cast<size_t>(inputs));
  std::iota(buffers.begin(), buffers.end(), 0);
  buffers.push_back(number);
  attention.launches.insert(attention.launches.begin(), {std::move(list), std::move(buffers)});
  return attention;
}

}  // namespace tcc::sched
