// The facts of a kernel that its text relies on.
#include <algorithm>
#include <unordered_set>

#include "scheduler/legalize.h"

namespace tcc::sched {
namespace {

using ir::ExprNode;
using ir::Fn;

bool is_wide(DType dtype) { return is_integer(dtype) && size_bytes(dtype) == 8; }

class Finder {
 public:
  explicit Finder(Kernel& kernel) : kernel_(kernel), found_(kernel.requirements) {}

  void run() {
    found_ = {};
    found_.int64 = kernel_.wide_index;
    for (const Argument& argument : kernel_.arguments) {
      found_.alignments.push_back(
          std::max(size_bytes(argument.dtype), static_cast<int>(argument.needed)));
      found_.int64 |= is_wide(argument.dtype);
    }
    for (const Array& array : kernel_.shared) found_.int64 |= is_wide(array.variable.dtype);
    block(kernel_.body);
    for (const Hook& hook : kernel_.hooks) {
      found_.int64 |= hook.returns && is_wide(hook.result);
      for (const Hook::Parameter& p : hook.parameters)
        found_.int64 |= !p.is_index() && is_wide(p.array.dtype);
      block(hook.body);
    }
  }

 private:
  void block(const Block& block) {
    for (const Stmt& stmt : block) {
      if (stmt.kind == Stmt::Kind::load_vector || stmt.kind == Stmt::Kind::store_vector)
        access(stmt);
      found_.int64 |= is_wide(stmt.variable.dtype) && stmt.variable.id != 0;
      if (stmt.value) value(stmt.value);
      index(stmt.index);
      this->block(stmt.body);
      this->block(stmt.otherwise);
    }
  }

  void access(const Stmt& stmt) {
    const auto slot = static_cast<size_t>(stmt.buffer);
    const int elements = vector_elements(kernel_, stmt);
    if (elements == 1) return;
    const int bytes = elements * size_bytes(kernel_.arguments[slot].dtype);
    found_.vector_words.insert(bytes / 4);
    found_.alignments[slot] = std::max(found_.alignments[slot], bytes);
  }

  void index(const SymInt& index) {
    index.visit_atoms([&](const ir::AtomPtr& atom) {
      if (atom->value) value(atom->value);
    });
  }

  // An index, or a number that may be written as one: 64 bits wide for itself alone.
  static bool is_plain(const Expr& e) {
    return e->kind == ExprNode::Kind::index || e->kind == ExprNode::Kind::constant;
  }

  void value(const Expr& e) {
    if (!seen_.insert(e).second) return;
    found_.int64 |= is_wide(e->dtype);
    operands(e);
  }

  void operands(const Expr& e) {
    index(e->index);
    const bool compares = e->kind == ExprNode::Kind::call && ir::info(e->fn).to_bool;
    const bool draws =
        e->kind == ExprNode::Kind::call && (e->fn == Fn::rand_uniform || e->fn == Fn::rand_normal);
    const bool all_plain = std::all_of(e->args.begin(), e->args.end(), is_plain);
    for (const Expr& arg : e->args) {
      const bool converts = e->kind == ExprNode::Kind::cast && arg->kind == ExprNode::Kind::index;
      if (converts || (compares && all_plain) || (draws && is_plain(arg)))
        operands(arg);
      else
        value(arg);
    }
  }

  Kernel& kernel_;
  Requirements& found_;
  std::unordered_set<Expr> seen_;
};

}  // namespace

int vector_elements(const Kernel& kernel, const Stmt& stmt) {
  const Argument& argument = kernel.arguments[static_cast<size_t>(stmt.buffer)];
  const int bytes = size_bytes(argument.dtype);
  if (bytes > 4 || argument.dtype == DType::boolean) return 1;
  int64_t elements = std::min<int64_t>(stmt.count, 16 / bytes);
  elements = std::min(elements, argument.alignment / bytes);
  while (elements > 1 && (!stmt.index.divisible_by(elements) || stmt.count % elements != 0))
    elements /= 2;
  return elements * bytes >= 4 ? static_cast<int>(elements) : 1;
}

void find_requirements(Kernel& kernel, const Target&) { Finder(kernel).run(); }

}  // namespace tcc::sched
