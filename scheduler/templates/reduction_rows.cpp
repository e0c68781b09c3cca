#include "scheduler/templates/reduction_rows.h"

#include <algorithm>

#include "scheduler/templates/common.h"
#include "scheduler/templates/reduction_lowering.h"
#include "scheduler/vectorize.h"
#include "support/checked.h"

namespace tcc::sched {

using ir::ExprNode;
using ir::Fn;
using ir::ReduceKind;

Expr RowResult::step(const Expr& a, const Expr& b) const {
  return needs_nan ? combine_values(kind, a, b) : ir::call(Fn::max_number, {a, b});
}

ReductionRows::ReductionRows(const Region& region, const ReductionPlan& plan, const Config& config,
                             const Target& target)
    : region_(region),
      plan_(plan),
      inliner_(region),
      width_(config["vector"]),
      cluster_(cluster_of(config)),
      group_threads_(config["row_threads"]),
      row_threads_(group_threads_ * cluster_),
      block_rows_(config["rows"]),
      cached_(config["keep"] != 0),
      wide_rows_(!plan.inner && width_ > 1),
      indexed_registers_(target.indexed_registers) {
  v_ = SymInt::axis("v", width_);
  lane_ = SymInt::axis("lane", row_threads_);
  row_groups_ = wide_rows_ ? floordiv(plan.rows, width_) : plan.rows;
  row_group_ = SymInt::axis(wide_rows_ ? "rows" : "row", row_groups_);
  row_ = wide_rows_ ? row_group_ * width_ + v_ : row_group_;
  groups_ = wide_rows_ ? plan.columns : floordiv(plan.columns, width_);
  // An axis of a number is not 0; one that comes at run time may be, and its loop does nothing.
  const auto counted = [](const SymInt& size) { return size.is(0) ? SymInt(1) : size; };
  group_ = SymInt::axis("group", counted(groups_));
  col_ = plan.column(wide_rows_ ? group_ : group_ * width_ + v_);
  iterations_ = cached_ ? SymInt(kept_vectors(plan, config)) : ir::ceildiv(groups_, row_threads_);
  iteration_ = SymInt::axis("e", counted(iterations_));
  for (const auto& reduction : plan.reductions) {
    const Variable& result = reduction.result;
    const DType of_input = compute_dtype(reduction.node->inputs[0]->dtype());
    results_.push_back(
        {*reduction.node->op->reduction, result, ir::new_variable(result.name + "_value", of_input),
         ir::new_variable(result.name + "_lane", result.dtype), reduction.needs_nan});
  }
}

Kernel ReductionRows::lower() {
  Kernel kernel = start_kernel(region_);
  kernel.workgroup = static_cast<int>(group_threads_ * block_rows_);
  kernel.cluster = static_cast<int>(cluster_);
  kernel.grid = blocks_of(row_groups_, block_rows_) * cluster_;
  for (const auto& reduction : plan_.reductions)
    kernel.flops.count = kernel.flops.count + elements_of(reduction.node->inputs[0]);
  bind_results();
  body_ = &kernel.body;
  place_threads(kernel);
  collect();
  reduce();
  write_outputs();
  return kernel;
}

void ReductionRows::bind_results() {
  if (!wide_rows_) return bind_reductions(inliner_, plan_, row_);
  // The result of each of the thread's rows; that only the row's own is asked for was found when
  // the region was planned.
  for (const auto& reduction : plan_.reductions) {
    Expr result = ir::element(reduction.result, v_);
    inliner_.bind(reduction.node->outputs[0], [=](std::span<const SymInt>) { return result; });
  }
}

void ReductionRows::collect() {
  stage_values_.resize(static_cast<size_t>(plan_.stages));
  for (const auto& reduction : plan_.reductions) {
    Expr body = reduction_body(inliner_, reduction, row_, col_);
    ReduceKind kind = *reduction.node->op->reduction;
    if (!ir::is_arg(kind))
      body = ir::cast(body, compute_dtype(reduction.node->outputs[0]->dtype()));
    stage_values_[static_cast<size_t>(reduction.stage)].push_back(body);
  }
  for (const auto& output : plan_.outputs)
    if (output.full)
      full_values_.push_back(
          inliner_.value_at(output.stored.base, output_base_index(plan_, output, row_, col_)));
}

void ReductionRows::place_threads(const Kernel& kernel) {
  SymInt block = block_axis(kernel.grid), thread = thread_axis(kernel.workgroup);
  SymInt of_row = plan_.inner ? floordiv(thread, group_threads_) : mod(thread, block_rows_);
  SymInt of_lane = plan_.inner ? mod(thread, group_threads_) : floordiv(thread, block_rows_);
  // The lanes of a row are the threads of all workgroups of its cluster.
  if (cluster_ > 1) of_lane = of_lane + mod(block, cluster_) * group_threads_;
  raw_row_ = floordiv(block, cluster_) * block_rows_ + of_row;
  if (!lane_.is_const()) body_->push_back(let_index(lane_, of_lane));
  // Threads past the last row repeat it, since all must arrive at barriers, and write nothing.
  if (!row_group_.is_const())
    body_->push_back(let_index(row_group_, ir::min(raw_row_, row_groups_ - 1)));
}

bool ReductionRows::depends_on_column(const Expr& e) const {
  bool result = false;
  const auto uses = [](const SymInt& index, const SymInt& axis) {
    return axis.as_atom() && index.uses(axis.as_atom());
  };
  ir::visit(e, [&](const Expr& node) {
    if (node->kind == ExprNode::Kind::index || node->kind == ExprNode::Kind::load)
      result |= uses(node->index, group_) || (!wide_rows_ && uses(node->index, v_));
  });
  return result;
}

bool ReductionRows::stores_16_bits() const {
  return std::all_of(plan_.outputs.begin(), plan_.outputs.end(), [](const auto& output) {
    return !output.full || is_low_precision(output.value->dtype());
  });
}

void ReductionRows::use_kept(std::vector<Expr>& values, size_t stage) const {
  ir::rewrite_all(values, [&](const Expr& e) -> Expr {
    auto found = cache_.find(e.get());
    if (found == cache_.end() || first_stage_.at(e.get()) >= stage) return nullptr;
    return ir::element(found->second, cache_index());
  });
}

Block ReductionRows::vector_of_row(const SymInt& iteration, Block columns, Block otherwise) const {
  const SymInt at = iteration * row_threads_ + lane_;
  Block inner;
  if (!group_.is_const()) inner.push_back(let_index(group_, at));
  append(inner, std::move(columns));
  if (Expr inside = ir::index_less(at, groups_); !ir::is_true(inside))
    inner = {branch(inside, std::move(inner), std::move(otherwise))};
  return inner;
}

int64_t ReductionRows::together() const {
  bool serial = indexed_registers_;
  for (const auto& values : stage_values_)
    for (const Expr& value : values)
      ir::visit(value, [&](const Expr& e) { serial |= e->kind == ExprNode::Kind::reduce; });
  return serial ? 1 : width_ >= 8 ? 4 : 8;
}

Block ReductionRows::in_pieces(int64_t step,
                               const std::function<Block(const SymInt&, int64_t)>& piece) const {
  const SymInt whole = floordiv(groups_, row_threads_ * step),
               number = SymInt::axis("piece", whole), rest = iterations_ - whole * step;
  Block block;
  if (!whole.is(0)) block.push_back(loop(number, piece(number * step, step)));
  // An open row may leave any rest; vectors beyond its end are left out.
  const int64_t last = rest.is_const() ? rest.value() : step;
  if (last > 0) block.push_back(loop(SymInt::axis("last", 1), piece(whole * step, last)));
  return block;
}

// A branch around each vector would have the next one's load wait for this one.
Block ReductionRows::loads_first(const Block& columns) const {
  const SymInt at = iteration_ * row_threads_ + lane_;
  const Expr inside = ir::index_less(at, groups_);
  Block arrays, loads, rest;
  if (!group_.is_const()) loads.push_back(let_index(group_, at));
  for (const Stmt& stmt : columns) {
    if (stmt.kind != Stmt::Kind::load_vector || stmt.value) {
      rest.push_back(stmt);
      continue;
    }
    const Variable all = ir::new_variable("loaded", stmt.variable.dtype),
                   own = ir::new_variable("x", stmt.variable.dtype);
    arrays.push_back(array(all, iterations_.value() * width_));
    loads.push_back(array(own, width_));
    loads.push_back(stmt);
    loads.back().variable = own;
    loads.back().value = inside;
    loads.push_back(loop(v_, {set_element(all, cache_index(), ir::element(own, v_))}, true));
    rest.push_back(
        loop(v_, {set_element(stmt.variable, v_, ir::element(all, cache_index()))}, true));
  }
  Block block = std::move(arrays);
  if (!block.empty()) block.push_back(loop(iteration_, std::move(loads), true));
  block.push_back(loop(iteration_, vector_of_row(iteration_, std::move(rest)), true));
  return block;
}

Block ReductionRows::over_row(const Block& columns) const {
  if (cached_ && !plan_.columns.is_const()) return loads_first(columns);
  if (cached_) return {loop(iteration_, vector_of_row(iteration_, columns), true)};
  if (together() == 1) return {loop(iteration_, vector_of_row(iteration_, columns))};
  return in_pieces(together(), [&](const SymInt& first, int64_t count) -> Block {
    const SymInt e = SymInt::axis("e", count);
    return {loop(e, vector_of_row(first + e, columns), true)};
  });
}

void ReductionRows::over_threads(ReduceKind kind, const std::vector<Variable>& variables) {
  if (group_threads_ == 1) return;
  body_->push_back(reduce_lanes(kind, variables, group_threads_, plan_.inner ? 1 : block_rows_));
}

std::vector<Variable> ReductionRows::gather(const std::vector<Variable>& variables) {
  std::vector<Variable> arrays;
  for (const Variable& variable : variables) {
    const DType word = size_bytes(variable.dtype) < 4 ? DType::i32 : variable.dtype;
    arrays.push_back(ir::new_variable(variable.name + "_of", word));
    body_->push_back(gather_cluster(arrays.back(), variable, cluster_));
  }
  return arrays;
}

void ReductionRows::over_ranks(ReduceKind kind, const std::vector<Variable>& variables,
                               std::span<const Variable> gathered) {
  auto found = [&](const SymInt& rank) {
    std::vector<Expr> values;
    for (size_t i = 0; i < variables.size(); ++i)
      values.push_back(ir::cast(ir::element(gathered[i], rank), variables[i].dtype));
    return values;
  };
  const std::vector<Expr> first = found(0);
  for (size_t i = 0; i < variables.size(); ++i) body_->push_back(assign(variables[i], first[i]));
  const SymInt rank = SymInt::axis("rank", cluster_ - 1);
  body_->push_back(loop(rank, combine(kind, variables, found(rank + 1)), true));
}

void ReductionRows::write_outputs() {
  const Expr inside =
      row_groups_.divisible_by(block_rows_) ? nullptr : ir::index_less(raw_row_, row_groups_);
  append(*body_, stores_where(inside, full_outputs()));
  append(*body_, guarded(std::vector{inside}, row_outputs()));
}

Block ReductionRows::row_outputs() {
  std::vector<Sink> sinks;
  for (const auto& output : plan_.outputs) {
    if (output.full) continue;
    std::vector<SymInt> base = output_base_index(plan_, output, row_, col_);
    SymInt offset = region_.layout(output.value).offset(output.stored.output_index(base));
    sinks.push_back({region_.slot_of_output(output.value),
                     {},
                     offset,
                     inliner_.value_at(output.stored.base, base)});
  }
  if (sinks.empty()) return {};
  Block rows;
  if (wide_rows_) {
    rows = vectorize(sinks, v_);
  } else {
    for (const Sink& sink : sinks) rows.push_back(store(sink.buffer, sink.offset, sink.value));
  }
  if (!lane_.is_const())
    rows = {
        branch(ir::call(Fn::eq, {ir::index_value(lane_), ir::index_value(0)}), std::move(rows))};
  return rows;
}

Block ReductionRows::full_outputs() {
  if (full_values_.empty() || plan_.columns.is(0)) return {};
  size_t stage = stage_values_.size();
  std::vector<Sink> sinks;
  std::vector<Expr> values = full_values_;
  use_kept(values, stage);
  Block block = hoist_invariants(values, {group_, v_, iteration_});
  size_t next = 0;
  for (const auto& output : plan_.outputs) {
    if (!output.full) continue;
    std::vector<SymInt> base = output_base_index(plan_, output, row_, col_);
    SymInt offset = region_.layout(output.value).offset(output.stored.output_index(base));
    sinks.push_back({region_.slot_of_output(output.value), {}, offset, values[next++]});
  }
  append(block, over_row(vectorize(sinks, v_)));
  return block;
}

}  // namespace tcc::sched
