#include "scheduler/templates/attention_parts.h"

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "scheduler/cost.h"
#include "scheduler/templates/common.h"
#include "scheduler/vectorize.h"
#include "support/checked.h"

namespace tcc::sched {
namespace {

using ir::Fn;

Expr f32_number(double value) { return ir::constant(DType::f32, value); }

// Neighbours of a result that a thread combines.
int64_t combined_width(const AttentionPlan& plan) {
  const int64_t depths = plan.v.depths;
  return depths % 4 == 0 ? 4 : depths % 2 == 0 ? 2 : 1;
}

constexpr int kCombiningThreads = 64;

// Parts whose loads a thread has on their way at the same time.
int64_t parts_together(int64_t parts) { return std::gcd(parts, int64_t{16}); }

}  // namespace

double AttentionKeyParts::combining_seconds(const AttentionPlan& plan, int64_t parts,
                                            const Target& target) {
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  const int64_t width = combined_width(plan);
  const double items = number(plan.batches() * plan.queries * (plan.v.depths / width));
  LaunchCost cost;
  cost.threads = kCombiningThreads;
  cost.workgroups = std::ceil(items / cost.threads);
  cost.arithmetic = items * number(parts) * number(width + 24);
  cost.accesses = cost.elements = items * 3 * number(parts);
  cost.memory_bytes = cost.cache_bytes = number(bytes(plan, parts));
  cost.bytes_in_flight = number(parts_together(parts) * (width + 2) * 4);
  cost.round_trips = 3;
  return predicted_seconds(cost, target);
}

int64_t AttentionKeyParts::bytes(const AttentionPlan& plan, int64_t parts) {
  return plan.batches() * parts * plan.queries * (plan.v.depths + 2) * 4;
}

int AttentionKeyParts::first_workspace() const { return static_cast<int>(region_.inputs.size()); }

Hook AttentionKeyParts::store_part(std::string name) const {
  const int64_t width = tile_.segment, depths = plan_.v.depths;
  Hook hook;
  hook.name = std::move(name);
  hook.parameters = {passed_index("part", all_parts()),
                     passed_index("row", round_up_to(plan_.all_queries, tile_.block_q)),
                     passed_index("segment", ceil_div(tile_.depth_v, width)),
                     Hook::array_parameter("acc", DType::f32, width, false)};
  const SymInt part = hook.parameters[0].axis, row = hook.parameters[1].axis,
               segment = hook.parameters[2].axis, v = SymInt::axis("v", width);
  const SymInt p = SymInt::axis("p", all_parts()), q = SymInt::axis("q", plan_.all_queries);
  Block body;
  for (const auto& [axis, index] : {std::pair{p, part}, {q, row}})
    if (!axis.is_const()) body.push_back(let_index(axis, index));
  const auto store_at = [&](const SymInt& depth, const SymInt& lane) {
    Sink sink;
    sink.buffer = first_workspace();
    sink.offset = (p * plan_.all_queries + q) * depths + depth;
    sink.value = ir::element(hook.parameters[3].array, v);
    return vectorize({sink}, lane);
  };
  std::vector<Expr> guards = {ir::index_less(row, plan_.all_queries)};
  if (depths % width == 0) {
    const SymInt g = SymInt::axis("g", depths / width);
    guards.push_back(ir::index_less(segment, depths / width));
    if (!g.is_const()) body.push_back(let_index(g, segment));
    append(body, store_at(g * width + v, v));
  } else {
    const SymInt depth = SymInt::axis("e", depths), at = segment * width + v;
    Block lane;
    if (!depth.is_const()) lane.push_back(let_index(depth, at));
    append(lane, store_at(depth, 0));
    body.push_back(loop(v, {branch(ir::index_less(at, depths), std::move(lane))}, true));
  }
  hook.body = guarded(guards, std::move(body));
  return hook;
}

Hook AttentionKeyParts::store_part_sums(std::string name) const {
  Hook hook;
  hook.name = std::move(name);
  hook.parameters = {passed_index("part", all_parts()),
                     passed_index("row", round_up_to(plan_.all_queries, tile_.block_q)),
                     Hook::array_parameter("values", DType::f32, 2, false)};
  const SymInt part = hook.parameters[0].axis, row = hook.parameters[1].axis;
  const SymInt p = SymInt::axis("p", all_parts()), q = SymInt::axis("q", plan_.all_queries);
  Block body;
  for (const auto& [axis, index] : {std::pair{p, part}, {q, row}})
    if (!axis.is_const()) body.push_back(let_index(axis, index));
  for (const int64_t i : {0, 1})
    body.push_back(store(first_workspace() + 1, (p * plan_.all_queries + q) * 2 + i,
                         ir::element(hook.parameters[2].array, i)));
  hook.body = guarded(std::vector{ir::index_less(row, plan_.all_queries)}, std::move(body));
  return hook;
}

KernelSequence AttentionKeyParts::sequence(Kernel parts) const {
  KernelSequence sequence;
  sequence.workspaces = {{"results", DType::f32, rows() * plan_.v.depths, false},
                         {"sums", DType::f32, rows() * 2, false}};
  const auto argument = [&](size_t workspace, Argument::Access access) {
    return Argument{DType::f32, access, sequence.workspaces[workspace].elements, 16};
  };
  const int inputs = first_workspace(), all = static_cast<int>(parts.arguments.size());
  parts.arguments.resize(region_.inputs.size());
  std::vector<int> of_parts(region_.inputs.size()), of_both(static_cast<size_t>(all));
  std::iota(of_parts.begin(), of_parts.end(), 0);
  std::iota(of_both.begin(), of_both.end(), 0);
  Kernel combined = combine();
  for (const size_t workspace : {0, 1}) {
    parts.arguments.push_back(argument(workspace, Argument::Access::write));
    combined.arguments.push_back(argument(workspace, Argument::Access::read));
    of_parts.push_back(all + static_cast<int>(workspace));
    of_both.push_back(all + static_cast<int>(workspace));
  }
  TCC_CHECK(inputs <= all, "arguments of the region's kernel");
  sequence.launches.push_back({std::move(parts), std::move(of_parts)});
  sequence.launches.push_back({std::move(combined), std::move(of_both)});
  return sequence;
}

// One thread for each segment of a query's result.
Kernel AttentionKeyParts::combine() const {
  const int64_t width = combined_width(plan_), depths = plan_.v.depths, segments = depths / width;
  const SymInt items = plan_.all_batches() * plan_.all_queries * segments;
  Kernel kernel = start_kernel(region_);
  const SymInt rows = plan_.all_batches() * plan_.all_queries * parts_;
  kernel.flops = {2 * static_cast<double>(depths), rows};
  kernel.bytes = {static_cast<double>((depths + 2) * 4), rows};
  kernel.name += "_parts";
  kernel.workgroup = kCombiningThreads;
  kernel.grid = blocks_of(items, kCombiningThreads);
  const SymInt item = block_axis(kernel.grid) * kCombiningThreads + thread_axis(kCombiningThreads);
  const SymInt n = SymInt::axis("n", items), g = SymInt::axis("g", segments),
               q = SymInt::axis("q", plan_.all_queries), b = SymInt::axis("b", plan_.all_batches()),
               v = SymInt::axis("v", width);
  const int results = static_cast<int>(kernel.arguments.size()), sums = results + 1;
  const auto place = [&](const SymInt& part) {
    return (b * parts_ + part) * plan_.all_queries + q;
  };
  const auto new_variable = [](const char* name) { return ir::new_variable(name, DType::f32); };
  const ir::Variable max = new_variable("max"), sum = new_variable("sum"),
                     base = new_variable("base"), factor = new_variable("factor"),
                     acc = new_variable("acc"), x = new_variable("x"),
                     inverse = new_variable("inverse");
  const Expr none = f32_number(-std::numeric_limits<double>::infinity()), zero = f32_number(0);
  const Expr top = ir::read(max), total = ir::read(sum);

  Block body;
  for (const auto& [axis, index] : {std::pair{n, item},
                                    {g, mod(n, segments)},
                                    {q, mod(floordiv(n, segments), plan_.all_queries)},
                                    {b, floordiv(n, plan_.all_queries * segments)}})
    if (!axis.is_const()) body.push_back(let_index(axis, index));
  body.push_back(declare(max, none));
  // Several parts are loaded at once.
  const int64_t together = parts_together(parts_);
  const auto each_part = [&](const std::function<Block(const SymInt& part)>& make) {
    const SymInt outer = SymInt::axis("o", parts_ / together), inner = SymInt::axis("p", together);
    Block parts = {loop(inner, make(outer * together + inner), true)};
    return outer.is_const() ? parts : Block{loop(outer, std::move(parts))};
  };
  append(body, each_part([&](const SymInt& p) {
           return tcc::sched::combine(ir::ReduceKind::max, {max},
                                      {ir::load(sums, DType::f32, place(p) * 2)});
         }));
  // A query that no part saw a key of has no maximum.
  body.push_back(declare(base, ir::select(ir::call(Fn::eq, {top, none}), zero, top)));
  body.push_back(declare(sum, zero));
  body.push_back(array(acc, width));
  body.push_back(loop(v, {set_element(acc, v, zero)}, true));
  append(body, each_part([&](const SymInt& r) {
           const Expr weighed = ir::mul(ir::read(factor), ir::element(x, v));
           return Block{
               declare(factor, ir::call(Fn::exp, {ir::sub(ir::load(sums, DType::f32, place(r) * 2),
                                                          ir::read(base))})),
               assign(sum, ir::add(total, ir::mul(ir::read(factor),
                                                  ir::load(sums, DType::f32, place(r) * 2 + 1)))),
               array(x, width), load_vector(x, results, place(r) * depths + g * width, width),
               loop(v, {set_element(acc, v, ir::add(ir::element(acc, v), weighed))}, true)};
         }));
  body.push_back(declare(inverse, ir::div(f32_number(1), total)));
  const Expr empty = f32_number(plan_.safe ? 0 : std::numeric_limits<double>::quiet_NaN());
  body.push_back(
      loop(v,
           {set_element(acc, v,
                        ir::select(ir::call(Fn::lt, {zero, total}),
                                   ir::mul(ir::element(acc, v), ir::read(inverse)), empty))},
           true));
  const AttentionPlan::Places places = {{plan_.query, q}, {plan_.v.depth, g * width + v}};
  const Expr result = result_of(plan_, ir::element(acc, v));
  append(body, vectorize(plan_.sinks(plan_.outputs, plan_.acc, result, b, places), v));
  if (!plan_.sums.empty()) {
    const Expr infinite = ir::call(
        Fn::logical_and,
        {ir::call(Fn::isinf, {top}), ir::call(Fn::logical_or, {ir::call(Fn::lt, {zero, top}),
                                                               ir::call(Fn::eq, {total, zero})})});
    const Expr value = ir::select(infinite, top, ir::add(top, ir::call(Fn::log, {total})));
    Block stored = vectorize(plan_.sinks(plan_.sums, plan_.sum, value, b, {{plan_.query, q}}), 0);
    body.push_back(branch(ir::index_less(g, 1), std::move(stored)));
  }
  kernel.body = guarded(std::vector{ir::index_less(item, items)}, std::move(body));
  return kernel;
}

KernelSequence storing_results(Kernel kernel, const Region& region, const AttentionPlan& plan,
                               const AttentionTile& tile, int64_t parts) {
  if (parts > 1) {
    const AttentionKeyParts of(region, plan, tile, parts);
    kernel.hooks.push_back(of.store_part("store_part"));
    kernel.hooks.push_back(of.store_part_sums("store_part_sums"));
    return of.sequence(std::move(kernel));
  }
  const AttentionHooks hooks(plan, tile);
  kernel.hooks.push_back(hooks.epilogue("epilogue"));
  if (!plan.sums.empty()) kernel.hooks.push_back(hooks.store_sum("store_sum"));
  return kernel;
}

}  // namespace tcc::sched
