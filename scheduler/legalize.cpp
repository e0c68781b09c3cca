// Restricts a kernel to what its target can do; no target decision is made after this.
#include <algorithm>
#include <span>

#include "scheduler/index_range.h"
#include "scheduler/kernel.h"
#include "scheduler/kernel_names.h"
#include "scheduler/moved_bits.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using ir::Fn;

// Threads whose values one thread reads in one exchange through shared memory.
constexpr int64_t kExchange = 16;

// Combinations of threads, and of the workgroups of a cluster, as what the target has.
class Exchanges {
 public:
  Exchanges(Kernel& kernel, const Target& target)
      : kernel_(kernel), target_(target), names_(kernel) {}

  void run() {
    kernel_.body = rewrite(kernel_.body);
    if (expected_.empty()) return;
    kernel_.shared.push_back({"exchanges", DType::u64, static_cast<int64_t>(expected_.size())});
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
  // so nobody writes to its memory after its end.
  void gather(std::span<const Stmt> gathers, Block& out) {
    TCC_CHECK(depth_ == 0, kernel_.name, ": not all threads of a cluster reach a gather");
    const auto exchange = static_cast<int64_t>(expected_.size());
    if (exchange == 0) before_sends_ = static_cast<std::ptrdiff_t>(out.size());
    int64_t bytes = 0;
    for (const Stmt& stmt : gathers) {
      // Words are sent; a smaller type widens.
      const DType dtype = dtype_of(stmt.names[0]);
      const bool small = size_bytes(dtype) < 4;
      kernel_.shared.push_back({stmt.name, small ? DType::i32 : dtype, stmt.count});
      bytes += stmt.count * std::max(4, size_bytes(dtype));
      out.push_back(send_cluster(stmt.name, stmt.names[0], stmt.count, exchange));
    }
    out.push_back(await_bytes(exchange));
    expected_.push_back(expect_bytes(exchange, bytes));
  }

  void expand(const Stmt& stmt, Block& out) {
    const bool scans = stmt.kind == Stmt::Kind::scan_lanes;
    std::vector<DType> dtypes;
    for (const std::string& name : stmt.names) dtypes.push_back(dtype_of(name));
    int64_t done = 1;  // threads combined so far
    int64_t mask = stmt.stride;
    while (done < stmt.count && mask < target_.subgroup_size && target_.subgroup_shuffle &&
           kernel_.workgroup % target_.subgroup_size == 0 && shuffles(dtypes)) {
      kernel_.uses_lanes = true;
      scans ? shuffle_scan(stmt, dtypes[1], mask, out) : shuffle_step(stmt, dtypes, mask, out);
      done *= 2;
      mask *= 2;
    }
    while (done < stmt.count) {
      int64_t now = std::min(stmt.count / done, kExchange);
      scans ? exchange_scan(stmt, dtypes[1], mask, now, out)
            : exchange(stmt, dtypes, mask, now, out);
      done *= now;
      mask *= now;
    }
  }

  // Every device shuffles 32-bit numbers; the rest goes through shared memory.
  bool shuffles(const std::vector<DType>& dtypes) const {
    return std::none_of(dtypes.begin(), dtypes.end(),
                        [](DType d) { return d == DType::boolean || size_bytes(d) != 4; });
  }

  void shuffle_step(const Stmt& stmt, const std::vector<DType>& dtypes, int64_t mask, Block& out) {
    std::vector<Expr> others;
    for (size_t i = 0; i < stmt.names.size(); ++i) {
      std::string other = names_.fresh("other");
      out.push_back(declare(other, ir::shuffle_xor(ir::variable(stmt.names[i], dtypes[i]), mask)));
      others.push_back(ir::variable(other, dtypes[i]));
    }
    for (Stmt& s : combine(stmt.reduce, stmt.names, others)) out.push_back(std::move(s));
  }

  // The other half's total goes before the prefix in the upper half alone.
  void shuffle_scan(const Stmt& stmt, DType dtype, int64_t mask, Block& out) {
    const std::string &prefix = stmt.names[0], &total = stmt.names[1];
    const std::string other = names_.fresh("other");
    out.push_back(declare(other, ir::shuffle_xor(ir::variable(total, dtype), mask)));
    const Expr value = ir::variable(other, dtype);
    const SymInt half = mod(floordiv(thread_axis(kernel_.workgroup), mask), 2);
    out.push_back(branch(ir::index_less(0, half), combine(stmt.reduce, {prefix}, {value})));
    for (Stmt& s : combine(stmt.reduce, {total}, {value})) out.push_back(std::move(s));
  }

  // Totals of `count` parts, through shared memory.
  void exchange_scan(const Stmt& stmt, DType dtype, int64_t mask, int64_t count, Block& out) {
    const bool turns = take_turns();
    const std::string &prefix = stmt.names[0], &total = stmt.names[1];
    const std::string array = shared_array(dtype, turns ? turn_ : 2);
    const SymInt thread = thread_axis(kernel_.workgroup), part = mod(floordiv(thread, mask), count);
    out.push_back(set_element(array, thread, ir::variable(total, dtype)));
    out.push_back(barrier());
    const std::string before = names_.fresh("before");
    const Expr nothing = identity_value(stmt.reduce, dtype);
    out.push_back(declare(before, nothing));
    out.push_back(assign(total, nothing));
    const SymInt k = SymInt::axis(names_.fresh("x"), count);
    const std::string value = names_.fresh("part");
    Block step = {declare(value, ir::element(array, dtype, thread + (k - part) * mask)),
                  branch(ir::index_less(k, part),
                         combine(stmt.reduce, {before}, {ir::variable(value, dtype)}))};
    for (Stmt& s : combine(stmt.reduce, {total}, {ir::variable(value, dtype)}))
      step.push_back(std::move(s));
    out.push_back(loop(k, std::move(step), true));
    for (Stmt& s : combine(stmt.reduce, {prefix}, {ir::variable(before, dtype)}))
      out.push_back(std::move(s));
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

  void exchange(const Stmt& stmt, const std::vector<DType>& dtypes, int64_t mask, int64_t count,
                Block& out) {
    SymInt thread = thread_axis(kernel_.workgroup);
    const bool turns = take_turns();
    std::vector<std::string> arrays;
    for (size_t i = 0; i < stmt.names.size(); ++i) {
      arrays.push_back(shared_array(dtypes[i], 3 * i + (turns ? turn_ : 2)));
      out.push_back(set_element(arrays[i], thread, ir::variable(stmt.names[i], dtypes[i])));
    }
    out.push_back(barrier());
    // In the same order in every thread, so that all hold the same bits.
    SymInt base = thread - mod(floordiv(thread, mask), count) * mask;
    std::vector<Expr> first;
    for (size_t i = 0; i < arrays.size(); ++i)
      out.push_back(assign(stmt.names[i], ir::element(arrays[i], dtypes[i], base)));
    SymInt k = SymInt::axis(names_.fresh("x"), count - 1);
    std::vector<Expr> others;
    for (size_t i = 0; i < arrays.size(); ++i)
      others.push_back(ir::element(arrays[i], dtypes[i], base + (k + 1) * mask));
    out.push_back(loop(k, combine(stmt.reduce, stmt.names, others), true));
    if (!turns) out.push_back(barrier());
  }

  // One array per dtype and number serves all exchanges: the barriers keep them apart.
  std::string shared_array(DType dtype, size_t number) {
    std::string name = "exchange" + std::to_string(number) + "_" + std::string(tcc::name(dtype));
    auto found = std::find_if(kernel_.shared.begin(), kernel_.shared.end(),
                              [&](const Array& a) { return a.name == name; });
    if (found == kernel_.shared.end()) kernel_.shared.push_back({name, dtype, kernel_.workgroup});
    return name;
  }

  DType dtype_of(const std::string& variable) const {
    DType dtype{};
    bool found = find_declaration(kernel_.body, variable, dtype);
    TCC_CHECK(found, "threads combine the undeclared ", variable);
    return dtype;
  }

  static bool find_declaration(const Block& block, const std::string& variable, DType& dtype) {
    for (const Stmt& stmt : block) {
      if (stmt.kind == Stmt::Kind::declare && stmt.name == variable) {
        dtype = stmt.dtype;
        return true;
      }
      if (find_declaration(stmt.body, variable, dtype) ||
          find_declaration(stmt.otherwise, variable, dtype))
        return true;
    }
    return false;
  }

  Kernel& kernel_;
  const Target& target_;
  KernelNames names_;
  int depth_ = 0;                    // of the statement at hand in loops and branches
  Block expected_;                   // of each exchange
  std::ptrdiff_t before_sends_ = 0;  // in the body, of the first exchange
  size_t turn_ = 1;                  // which of the two arrays the last exchange took
};

int64_t times(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_mul_overflow(a, b, &result) ? INT64_MAX / 2 : result;
}

int64_t extent(const SymInt& axis) { return axis.is_const() ? 1 : axis.range().hi + 1; }

// Loop iterations of one thread, unrolled loops and serial reductions within expressions included.
int64_t iterations(const Block& block) {
  int64_t total = 0;
  for (const Stmt& stmt : block) {
    if (stmt.value)
      ir::visit(stmt.value, [&](const Expr& e) {
        if (e->kind != ir::ExprNode::Kind::reduce) return;
        int64_t count = 1;
        for (const SymInt& axis : e->axes) count = times(count, extent(axis));
        total = std::min(total + count, INT64_MAX / 2);
      });
    int64_t inside = std::max(iterations(stmt.body), iterations(stmt.otherwise));
    if (stmt.kind == Stmt::Kind::loop) inside = times(extent(stmt.axis), inside + 1);
    total = std::min(total + inside, INT64_MAX / 2);
  }
  return total;
}

bool needs(const Kernel& kernel, DType dtype) {
  return std::any_of(kernel.arguments.begin(), kernel.arguments.end(),
                     [&](const Argument& a) { return a.dtype == dtype; });
}

}  // namespace

Kernel legalize(Kernel kernel, const Target& target) {
  Exchanges(kernel, target).run();
  move_bits(kernel);
  drop_stored_rounding(kernel);
  // Offsets, and thread numbers past the end of the last workgroup, stay below 2^31, or indices are
  // 64 bits wide.
  constexpr int64_t kNarrow = (int64_t{1} << 31) - (1 << 20);
  for (const Argument& argument : kernel.arguments)
    if (argument.elements >= kNarrow) kernel.wide_index = true;
  if (kernel.grid * kernel.workgroup >= kNarrow / 32 || leaves_32_bits(kernel))
    kernel.wide_index = true;
  if (kernel.wide_index && !target.int64)
    fail_device(kernel.name, ": indices beyond 2^31 need 64-bit integers, which ", target.id(),
                " lacks");
  if ((needs(kernel, DType::f64)) && !target.float64)
    fail_device(kernel.name, ": ", target.id(), " has no 64-bit floats");
  if ((needs(kernel, DType::i64) || needs(kernel, DType::u64)) && !target.int64)
    fail_device(kernel.name, ": ", target.id(), " has no 64-bit integers");
  for (const Argument& argument : kernel.arguments) {
    int bytes = size_bytes(argument.dtype);
    if ((bytes == 2 && !target.storage16) || (bytes == 1 && !target.storage8))
      fail_device(kernel.name, ": ", target.id(), " cannot store ", name(argument.dtype));
  }
  int64_t arrays = 0;
  for (const Array& a : kernel.shared) arrays += a.elements * std::max(4, size_bytes(a.dtype));
  auto check_shared = [&](int64_t bytes, int64_t limit) {
    if (bytes > limit)
      fail_device(kernel.name, ": needs ", bytes, " bytes of shared memory, ", target.id(), " has ",
                  limit);
  };
  check_shared(arrays, target.static_shared_bytes());
  check_shared(arrays + kernel.shared_bytes, target.shared_bytes);
  if (kernel.workgroup > target.max_workgroup_size)
    fail_device(kernel.name, ": needs workgroups of ", kernel.workgroup, " threads, ", target.id(),
                " has ", target.max_workgroup_size);
  if (kernel.cluster > target.max_cluster)
    fail_device(kernel.name, ": needs clusters of ", kernel.cluster, " workgroups, ", target.id(),
                " has ", target.max_cluster);
  if (kernel.grid > target.max_grid[0] * target.max_grid[1])
    fail_device(kernel.name, ": needs ", kernel.grid, " workgroups, more than ", target.id(),
                " can launch");
  if (int64_t count = iterations(kernel.body);
      target.max_loop_iterations > 0 && count > target.max_loop_iterations)
    fail_device(kernel.name, ": a thread runs up to ", count, " loop iterations, and ", target.id(),
                " stops it after ", target.max_loop_iterations);
  verify(kernel);
  return kernel;
}

}  // namespace tcc::sched
