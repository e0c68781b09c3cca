// Walks over expressions, which are DAGs: every distinct node is handled once.
#include <bit>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "ir/bit_cast.h"
#include "ir/expr.h"
#include "ir/expr_fold.h"
#include "ir/symint_internal.h"
#include "support/error.h"

namespace tcc::ir {

namespace {

using Kind = ExprNode::Kind;

std::vector<AtomPtr> indirect_atoms(const SymInt& index) {
  std::vector<AtomPtr> found;
  index.visit_atoms([&](const AtomPtr& atom) {
    if (atom->kind == Atom::Kind::indirect && atom->value) found.push_back(atom);
  });
  return found;
}

class Visitor {
 public:
  explicit Visitor(const std::function<void(const Expr&)>& seen) : seen_(seen) {}

  void visit(const Expr& e) {
    if (!done_.insert(e.get()).second) return;
    for (const AtomPtr& atom : indirect_atoms(e->index)) visit(atom->value);
    for (const Expr& arg : e->args) visit(arg);
    seen_(e);
  }

 private:
  const std::function<void(const Expr&)>& seen_;
  std::unordered_set<const ExprNode*> done_;
};

class Rewriter {
 public:
  using Leaf = std::function<Expr(const Expr&)>;
  using Index = std::function<SymInt(const SymInt&)>;
  Rewriter(const Leaf& leaf, const Index& index) : leaf_(leaf), index_(index) {}

  Expr of(const Expr& e) {
    if (auto found = memo_.find(e.get()); found != memo_.end()) return found->second;
    Expr result = leaf_ ? leaf_(e) : nullptr;
    if (!result) result = rebuild(e);
    return memo_[e.get()] = std::move(result);
  }

 private:
  Expr rebuild(const Expr& e) {
    const SymInt index = of(e->index);
    bool changed = !symint::same_object(index, e->index);
    std::vector<Expr> args;
    for (const Expr& arg : e->args) {
      args.push_back(of(arg));
      changed |= args.back() != arg;
    }
    std::vector<SymInt> axes;
    for (const SymInt& axis : e->axes) {
      axes.push_back(of(axis));
      changed |= !symint::same_object(axes.back(), axis);
    }
    if (!changed) return e;
    switch (e->kind) {
      case Kind::index: return index_value(index);
      case Kind::load: return load(e->buffer, e->stored, index);
      case Kind::element: return element(e->variable, index);
      case Kind::call: return call(e->fn, std::move(args));
      case Kind::cast:
        return keeps_bits(*e) ? bit_cast(args[0], args[0]->dtype, e->dtype)
                              : cast(args[0], e->dtype);
      case Kind::shuffle: return shuffle_xor(args[0], e->integer);
      case Kind::reduce: return reduce(e->reduce, std::move(axes), args[0]);
      case Kind::constant:
      case Kind::var: break;
    }
    throw InternalError("a leaf without operands changed");
  }

  SymInt of(const SymInt& index) {
    if (index.is_const()) return index;
    const std::vector<AtomPtr> indirect = indirect_atoms(index);
    if (indirect.empty()) return index_ ? index_(index) : index;
    // The values are rewritten here; index_, which may well enter them too, sees stand-ins without
    // one.
    using Atoms = std::unordered_map<AtomPtr, SymInt, AtomHash, AtomEqual>;
    Atoms stand_ins, rewritten;
    bool changed = false;
    for (const AtomPtr& atom : indirect) {
      Expr value = of(atom->value);
      changed |= value != atom->value;
      const SymInt stand_in = SymInt::indirect(atom->name, nullptr, atom->range);
      stand_ins[atom] = stand_in;
      rewritten[stand_in.as_atom()] = value == atom->value
                                          ? SymIntAccess::from_atom(atom)
                                          : symint::with_value(*atom, std::move(value));
    }
    if (!changed && !index_) return index;
    const auto replace_by = [](const Atoms& values) {
      return [&values](const AtomPtr& atom) -> std::optional<SymInt> {
        const auto found = values.find(atom);
        return found == values.end() ? std::nullopt : std::optional<SymInt>(found->second);
      };
    };
    SymInt result = index.substitute(replace_by(stand_ins));
    if (index_) result = index_(result);
    return result.substitute(replace_by(rewritten));
  }

  const Leaf& leaf_;
  const Index& index_;
  std::unordered_map<const ExprNode*, Expr> memo_;
};

// Compares DAGs: what was found equal once is not compared again.
class ExprComparison {
 public:
  int of(const Expr& a, const Expr& b) {
    if (a == b || equal_.contains({a.get(), b.get()})) return 0;
    const int found = compare_nodes(*a, *b);
    if (found == 0) equal_.insert({a.get(), b.get()});
    return found;
  }

 private:
  int compare_nodes(const ExprNode& a, const ExprNode& b) {
    const auto fields = [](const ExprNode& e) {
      return std::tuple(e.kind, e.dtype, e.fn, e.reduce, std::bit_cast<uint64_t>(e.number),
                        e.integer, e.buffer, e.stored, e.variable.id, e.args.size(), e.axes.size());
    };
    if (const int found = symint::order_of(fields(a), fields(b))) return found;
    if (const int found = compare(a.index, b.index)) return found;
    for (size_t i = 0; i < a.axes.size(); ++i) {
      if (const int found = compare(a.axes[i], b.axes[i])) return found;
      if (const int found = compare(extent_of(a.axes[i]), extent_of(b.axes[i]))) return found;
    }
    for (size_t i = 0; i < a.args.size(); ++i)
      if (const int found = of(a.args[i], b.args[i])) return found;
    return 0;
  }

  std::set<std::pair<const ExprNode*, const ExprNode*>> equal_;
};

}  // namespace

void visit(const Expr& e, const std::function<void(const Expr&)>& seen) { Visitor(seen).visit(e); }

Expr rewrite(const Expr& e, const std::function<Expr(const Expr&)>& leaf,
             const std::function<SymInt(const SymInt&)>& index) {
  return Rewriter(leaf, index).of(e);
}

void rewrite_all(std::vector<Expr>& values, const std::function<Expr(const Expr&)>& leaf) {
  const std::function<SymInt(const SymInt&)> no_index;
  Rewriter rewriter(leaf, no_index);
  for (Expr& value : values) value = rewriter.of(value);
}

int compare(const Expr& a, const Expr& b) { return ExprComparison().of(a, b); }

}  // namespace tcc::ir
