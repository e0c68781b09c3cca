#include "scheduler/moved_bits.h"

#include <set>

#include "ir/bit_cast.h"

namespace tcc::sched {
namespace {

using ir::ExprNode;

// One type in one body. First every array and variable of f32 is taken to hold moved elements;
// those that hold something else, or are used otherwise, are dropped until nothing changes.
class Mover {
 public:
  Mover(const std::vector<Argument>& arguments, DType type)
      : arguments_(arguments), type_(type), bits_(type) {}

  void run(Block& block, std::vector<Array>* shared) {
    if (shared)
      for (const Array& array : *shared)
        if (array.variable.dtype == DType::f32) moved_.insert(array.variable.id);
    find_variables(block);
    do {
      changed_ = false;
      bits_ = ir::MovedBits(type_, [this](const Expr& e) { return bits_of_variable(e); });
      walked_.clear();
      check(block);
    } while (changed_);
    rewrite(block);
    if (shared)
      for (Array& array : *shared)
        if (moved_.count(array.variable.id)) array.variable.dtype = ir::bits_type(type_);
  }

 private:
  bool is_of_type(int buffer) const {
    return arguments_[static_cast<size_t>(buffer)].dtype == type_;
  }

  Expr bits_of_variable(const Expr& e) const {
    if (e->dtype != DType::f32 || !moved_.count(e->variable.id)) return nullptr;
    Variable bits = e->variable;
    bits.dtype = ir::bits_type(type_);
    return e->kind == ExprNode::Kind::var ? ir::read(bits) : ir::element(bits, e->index);
  }

  void find_variables(const Block& block) {
    for (const Stmt& stmt : block) {
      const bool declares = stmt.kind == Stmt::Kind::array || stmt.kind == Stmt::Kind::declare;
      if (declares && stmt.variable.dtype == DType::f32) moved_.insert(stmt.variable.id);
      find_variables(stmt.body);
      find_variables(stmt.otherwise);
    }
  }

  void drop(const Variable& variable) { changed_ |= moved_.erase(variable.id) > 0; }

  // Returns whether the value of a statement ends as an element of the type, whose bits it then is.
  bool moves(const Stmt& stmt) {
    switch (stmt.kind) {
      case Stmt::Kind::declare:
      case Stmt::Kind::assign:
      case Stmt::Kind::set_element: return moved_.count(stmt.variable.id) && bits_.of(stmt.value);
      case Stmt::Kind::store: return is_of_type(stmt.buffer) && bits_.of(stmt.value);
      default: return false;
    }
  }

  void check(const Block& block) {
    for (const Stmt& stmt : block) {
      const bool moved = moves(stmt);
      switch (stmt.kind) {
        case Stmt::Kind::declare:
        case Stmt::Kind::assign:
        case Stmt::Kind::set_element:
          if (!moved) drop(stmt.variable);
          break;
        case Stmt::Kind::load_vector:
        case Stmt::Kind::store_vector:
          if (!is_of_type(stmt.buffer)) drop(stmt.variable);
          break;
        case Stmt::Kind::array: break;
        default:
          drop(stmt.variable);
          for (const Variable& variable : stmt.variables) drop(variable);
      }
      if (stmt.value) walk(stmt.value, moved);
      drop_within(stmt.index);
      check(stmt.body);
      check(stmt.otherwise);
    }
  }

  // Drops the variables that `e` computes with; `moved` where its bits are all that is wanted.
  void walk(const Expr& e, bool moved) {
    if (!walked_.insert({e.get(), moved}).second) return;
    const bool named = e->kind == ExprNode::Kind::var || e->kind == ExprNode::Kind::element;
    if (named && !moved) drop(e->variable);
    drop_within(e->index);
    const bool as_bits = takes_bits(e);
    for (size_t i = 0; i < e->args.size(); ++i) {
      const bool condition = e->kind == ExprNode::Kind::call && i == 0;
      walk(e->args[i], as_bits || (moved && !condition && !ir::keeps_bits(*e)));
    }
  }

  // Returns whether `e` takes the bits of moved elements of the type.
  bool takes_bits(const Expr& e) {
    return ir::keeps_bits(*e) && e->args[0]->dtype == type_ && bits_.of(e->args[0]);
  }

  // Variables that an index is computed of are dropped.
  void drop_within(const SymInt& index) {
    index.visit_atoms([&](const ir::AtomPtr& atom) {
      if (atom->kind == ir::Atom::Kind::indirect && atom->value) walk(atom->value, false);
    });
  }

  Expr rewritten(const Expr& value) {
    return ir::rewrite(value, [&](const Expr& e) -> Expr {
      return takes_bits(e) ? ir::bit_cast(bits_.of(e->args[0]), ir::bits_type(type_), e->dtype)
                           : nullptr;
    });
  }

  void rewrite(Block& block) {
    for (Stmt& stmt : block) {
      if (stmt.value) stmt.value = rewritten(moves(stmt) ? bits_.of(stmt.value) : stmt.value);
      if (moved_.count(stmt.variable.id)) stmt.variable.dtype = ir::bits_type(type_);
      rewrite(stmt.body);
      rewrite(stmt.otherwise);
    }
  }

  const std::vector<Argument>& arguments_;
  DType type_;
  ir::MovedBits bits_;
  std::set<uint64_t> moved_;  // ids of arrays and variables
  std::set<std::pair<const ExprNode*, bool>> walked_;
  bool changed_ = false;
};

}  // namespace

void move_bits(Kernel& kernel) {
  std::set<DType> types;
  for (const Argument& argument : kernel.arguments)
    if (is_low_precision(argument.dtype)) types.insert(argument.dtype);
  for (const DType type : types) {
    Mover(kernel.arguments, type).run(kernel.body, &kernel.shared);
    for (Hook& hook : kernel.hooks) Mover(kernel.arguments, type).run(hook.body, nullptr);
  }
}

}  // namespace tcc::sched
