// Drops roundings that a store repeats.
#include <map>
#include <set>

#include "scheduler/kernel.h"

namespace tcc::sched {
namespace {

using ir::ExprNode;

// `value` without a rounding to `stored`, which storing it does.
Expr unrounded(const Expr& value, DType stored) {
  if (!is_low_precision(stored)) return value;
  const bool widens = value->kind == ExprNode::Kind::cast && value->dtype == DType::f32 &&
                      value->args[0]->dtype == stored;
  const Expr& rounded = widens ? value->args[0] : value;
  const bool rounds = rounded->kind == ExprNode::Kind::cast && rounded->dtype == stored &&
                      rounded->args[0]->dtype == DType::f32;
  return rounds ? rounded->args[0] : value;
}

class StoredRounding {
 public:
  explicit StoredRounding(const std::vector<Argument>& arguments) : arguments_(arguments) {}

  void run(Block& block) {
    find_uses(block);
    rewrite(block);
  }

 private:
  DType stored(int buffer) const { return arguments_[static_cast<size_t>(buffer)].dtype; }

  void find_uses(const Block& block) {
    for (const Stmt& stmt : block) {
      if (stmt.kind == Stmt::Kind::store_vector)
        stored_as_[stmt.variable.id].insert(stored(stmt.buffer));
      if (stmt.value)
        ir::visit(stmt.value, [&](const Expr& e) {
          if (e->kind == ExprNode::Kind::element) read_.insert(e->variable.id);
        });
      find_uses(stmt.body);
      find_uses(stmt.otherwise);
    }
  }

  // Arrays that are stored as one type and otherwise not read.
  bool only_stored(const Variable& array) const {
    const auto found = stored_as_.find(array.id);
    return found != stored_as_.end() && found->second.size() == 1 && !read_.count(array.id);
  }

  void rewrite(Block& block) {
    for (Stmt& stmt : block) {
      if (stmt.kind == Stmt::Kind::store) stmt.value = unrounded(stmt.value, stored(stmt.buffer));
      if (stmt.kind == Stmt::Kind::set_element && only_stored(stmt.variable))
        stmt.value = unrounded(stmt.value, *stored_as_.at(stmt.variable.id).begin());
      rewrite(stmt.body);
      rewrite(stmt.otherwise);
    }
  }

  const std::vector<Argument>& arguments_;
  // The keys are the ids of arrays.
  std::map<uint64_t, std::set<DType>> stored_as_;
  std::set<uint64_t> read_;
};

}  // namespace

void drop_stored_rounding(Kernel& kernel) {
  StoredRounding(kernel.arguments).run(kernel.body);
  for (Hook& hook : kernel.hooks) StoredRounding(kernel.arguments).run(hook.body);
}

}  // namespace tcc::sched
