// Combinations of threads, and of the workgroups of a cluster, as what the target has.
#include <algorithm>
#include <map>
#include <span>

#include "scheduler/legalize.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

class Exchanges {
 public:
  Exchanges(Kernel& kernel, const Target& target) : kernel_(kernel), target_(target) {}

  void run() {
    kernel_.body = rewrite(kernel_.body);
    if (expected_.empty()) return;
    kernel_.shared.push_back({exchanges_, static_cast<int64_t>(expected_.size())});
    // Bytes sent early would be lost: all say what they expect, and wait for it before they send.
    Block& body = kernel_.body;
    body.insert(body.begin() + before_sends_, cluster_wait());
    expected_.push_back(cluster_arrive());
    body.insert(body.begin(), expected_.begin(), expected_.end());
  }

 private:
  Block rewrite(const Block& block) {
    Block result;
    for (size_t i = 0; i < block.size(); ++i) {
      const Stmt& stmt = block[i];
      if (stmt.kind == Stmt::Kind::gather_cluster) {
        std::span<const Stmt> together(&stmt, 1);
        while (i + 1 < block.size() && block[i + 1].kind == Stmt::Kind::gather_cluster)
          together = {&stmt, together.size() + 1}, ++i;
        gather(together, result);
        continue;
      }
      if (stmt.kind == Stmt::Kind::reduce_lanes || stmt.kind == Stmt::Kind::scan_lanes) {
        expand(stmt, result);
        continue;
      }
      Stmt copy = stmt;
      ++depth_;
      copy.body = rewrite(stmt.body);
      copy.otherwise = rewrite(stmt.otherwise);
      --depth_;
      result.push_back(std::move(copy));
    }
    return result;
  }

  // Every workgroup sends its values to all others, and itself. Arrays are written once: no thread
  // has to have read them first. A workgroup has what was sent to it when its last exchange ends,
  // so no other workgroup writes to its memory after its end.
  void gather(std::span<const Stmt> gathers, Block& out) {
    TCC_CHECK(depth_ == 0, kernel_.name, ": not all threads of a cluster reach a gather");
    const auto exchange = static_cast<int64_t>(expected_.size());
    if (exchange == 0) before_sends_ = static_cast<std::ptrdiff_t>(out.size());
    int64_t bytes = 0;
    for (const Stmt& stmt : gathers) {
      const Variable& array = stmt.variable;
      TCC_CHECK(size_bytes(array.dtype) >= 4, kernel_.name, ": words are gathered");
      kernel_.shared.push_back({array, stmt.count});
      bytes += stmt.count * size_bytes(array.dtype);
      out.push_back(send_cluster(exchanges_, exchange, array, stmt.variables[0], stmt.count));
    }
    out.push_back(await_bytes(exchanges_, exchange));
    expected_.push_back(expect_bytes(exchanges_, exchange, bytes));
  }

  void expand(const Stmt& stmt, Block& out) {
    const bool scans = stmt.kind == Stmt::Kind::scan_lanes;
    int64_t done = 1;  // threads combined so far
    int64_t mask = stmt.stride;
    while (done < stmt.count && mask < target_.subgroup_size && target_.subgroup_shuffle &&
           kernel_.workgroup % target_.subgroup_size == 0 && shuffles(stmt.variables)) {
      kernel_.uses_lanes = true;
      scans ? shuffle_scan(stmt, mask, out) : shuffle_step(stmt, mask, out);
      done *= 2;
      mask *= 2;
    }
    while (done < stmt.count) {
      int64_t now = std::min(stmt.count / done, kExchangeThreads);
      scans ? exchange_scan(stmt, mask, now, out) : exchange(stmt, mask, now, out);
      done *= now;
      mask *= now;
    }
  }

  // Every device shuffles 32-bit numbers; the rest goes through shared memory.
  bool shuffles(const std::vector<Variable>& variables) const {
    return std::none_of(variables.begin(), variables.end(), [](const Variable& v) {
      return v.dtype == DType::boolean || size_bytes(v.dtype) != 4;
    });
  }

  // The value of `variable` in the lane that differs in the bits of `mask`.
  Expr of_other_lane(const Variable& variable, int64_t mask, Block& out) {
    const Variable other = ir::new_variable("other", variable.dtype);
    out.push_back(declare(other, ir::shuffle_xor(ir::read(variable), mask)));
    return ir::read(other);
  }

  void shuffle_step(const Stmt& stmt, int64_t mask, Block& out) {
    std::vector<Expr> others;
    for (const Variable& variable : stmt.variables)
      others.push_back(of_other_lane(variable, mask, out));
    for (Stmt& s : combine(stmt.reduce, stmt.variables, others)) out.push_back(std::move(s));
  }

  // The other half's total goes before the prefix in the upper half alone.
  void shuffle_scan(const Stmt& stmt, int64_t mask, Block& out) {
    const Variable &prefix = stmt.variables[0], &total = stmt.variables[1];
    const Expr value = of_other_lane(total, mask, out);
    const SymInt half = mod(floordiv(thread_axis(kernel_.workgroup), mask), 2);
    out.push_back(branch(ir::index_less(0, half), combine(stmt.reduce, {prefix}, {value})));
    for (Stmt& s : combine(stmt.reduce, {total}, {value})) out.push_back(std::move(s));
  }

  // Totals of `count` parts, through shared memory.
  void exchange_scan(const Stmt& stmt, int64_t mask, int64_t count, Block& out) {
    const bool turns = take_turns();
    const Variable &prefix = stmt.variables[0], &total = stmt.variables[1];
    const DType dtype = total.dtype;
    const Variable array = shared_array(dtype, turns ? turn_ : 2);
    const SymInt thread = thread_axis(kernel_.workgroup), part = mod(floordiv(thread, mask), count);
    out.push_back(set_element(array, thread, ir::read(total)));
    out.push_back(barrier());
    const Variable before = ir::new_variable("before", dtype);
    const Expr nothing = identity_value(stmt.reduce, dtype);
    out.push_back(declare(before, nothing));
    out.push_back(assign(total, nothing));
    const SymInt k = SymInt::axis("x", count);
    const Variable value = ir::new_variable("part", dtype);
    Block step = {
        declare(value, ir::element(array, thread + (k - part) * mask)),
        branch(ir::index_less(k, part), combine(stmt.reduce, {before}, {ir::read(value)}))};
    for (Stmt& s : combine(stmt.reduce, {total}, {ir::read(value)})) step.push_back(std::move(s));
    out.push_back(loop(k, std::move(step), true));
    for (Stmt& s : combine(stmt.reduce, {prefix}, {ir::read(before)})) out.push_back(std::move(s));
    if (!turns) out.push_back(barrier());
  }

  // Exchanges in a row take turns with two arrays: a thread that writes the next but one has
  // passed the barrier that all reach after they read. A loop comes back to the same array, a
  // third one.
  bool take_turns() {
    const bool turns = depth_ == 0;
    if (turns) turn_ = 1 - turn_;
    return turns;
  }

  void exchange(const Stmt& stmt, int64_t mask, int64_t count, Block& out) {
    SymInt thread = thread_axis(kernel_.workgroup);
    const bool turns = take_turns();
    const std::vector<Variable>& variables = stmt.variables;
    std::vector<Variable> arrays;
    for (size_t i = 0; i < variables.size(); ++i) {
      arrays.push_back(shared_array(variables[i].dtype, 3 * i + (turns ? turn_ : 2)));
      out.push_back(set_element(arrays[i], thread, ir::read(variables[i])));
    }
    out.push_back(barrier());
    // In the same order in every thread, so that all hold the same bits.
    SymInt base = thread - mod(floordiv(thread, mask), count) * mask;
    for (size_t i = 0; i < arrays.size(); ++i)
      out.push_back(assign(variables[i], ir::element(arrays[i], base)));
    SymInt k = SymInt::axis("x", count - 1);
    std::vector<Expr> others;
    for (const Variable& array : arrays)
      others.push_back(ir::element(array, base + (k + 1) * mask));
    out.push_back(loop(k, combine(stmt.reduce, variables, others), true));
    if (!turns) out.push_back(barrier());
  }

  // One array per dtype and number serves all exchanges: the barriers keep them apart.
  Variable shared_array(DType dtype, size_t number) {
    auto [entry, is_new] = arrays_.try_emplace({dtype, number});
    if (is_new) {
      entry->second = ir::new_variable("exchange", dtype);
      kernel_.shared.push_back({entry->second, kernel_.workgroup});
    }
    return entry->second;
  }

  Kernel& kernel_;
  const Target& target_;
  int depth_ = 0;  // of the statement at hand in loops and branches
  // The array that counts the bytes of a cluster's exchanges, and what each of them expects.
  Variable exchanges_ = ir::new_variable("exchanges", DType::u64);
  Block expected_;
  std::ptrdiff_t before_sends_ = 0;  // in the body, of the first exchange
  std::map<std::pair<DType, size_t>, Variable> arrays_;
  size_t turn_ = 1;  // which of the two arrays the last exchange took
};

}  // namespace

void lower_exchanges(Kernel& kernel, const Target& target) { Exchanges(kernel, target).run(); }

}  // namespace tcc::sched
