#include "autotune/expr_program.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "support/error.h"

namespace tcc::autotune {

using ir::AtomPtr;
using ir::Expr;
using ir::ExprNode;
using ir::SymInt;

class ExprCompiler {
 public:
  explicit ExprCompiler(ExprProgram& program) : program_(program) {}

  int axis(const ir::Atom& atom) {
    return numbers_.try_emplace(atom.id, static_cast<int>(numbers_.size())).first->second;
  }
  int num_axes() const { return static_cast<int>(numbers_.size()); }

  int step(const Expr& e) {
    if (const auto found = steps_.find(e.get()); found != steps_.end()) {
      program_.steps_[static_cast<size_t>(found->second)].shared = true;
      return found->second;
    }
    ExprProgram::Step step = make(*e);
    program_.steps_.push_back(std::move(step));
    return steps_[e.get()] = static_cast<int>(program_.steps_.size()) - 1;
  }

 private:
  using Kind = ExprNode::Kind;

  static void join(std::vector<int>& axes, const std::vector<int>& more) {
    std::vector<int> both;
    std::set_union(axes.begin(), axes.end(), more.begin(), more.end(), std::back_inserter(both));
    axes = std::move(both);
  }

  ExprProgram::Step make(const ExprNode& e) {
    ExprProgram::Step step{.kind = e.kind, .dtype = e.dtype, .fn = e.fn, .reduce = e.reduce};
    step.constant = {e.number, e.integer};
    step.buffer = e.buffer;
    step.stored = e.stored;
    switch (e.kind) {
      case Kind::constant:
      case Kind::call:
      case Kind::cast:
      case Kind::reduce: break;
      case Kind::index:
      case Kind::load:
        step.index = index(e.index);
        step.axes = program_.indices_[static_cast<size_t>(step.index)].axes;
        break;
      default: throw InternalError(str("the reference cannot evaluate ", e.variable.name));
    }
    for (const SymInt& a : e.axes)
      step.loops.push_back({axis(*a.as_atom()), a.as_atom()->args[0].value()});
    for (const Expr& arg : e.args) {
      step.args.push_back(this->step(arg));
      step.from.push_back(arg->dtype);
      join(step.axes, program_.steps_[static_cast<size_t>(step.args.back())].axes);
    }
    std::erase_if(step.axes, [&](int used) {
      return std::ranges::any_of(step.loops, [&](const auto& loop) { return loop.axis == used; });
    });
    return step;
  }

  int index(const SymInt& value) {
    ExprProgram::Index index{.constant = value.constant()};
    for (const SymInt::Term& term : value.terms()) {
      ExprProgram::Term& compiled = index.terms.emplace_back();
      compiled.coefficient = term.coefficient;
      for (const AtomPtr& one : term.atoms) {
        compiled.atoms.push_back(atom(one));
        join(index.axes, program_.atoms_[static_cast<size_t>(compiled.atoms.back())].axes);
      }
    }
    program_.indices_.push_back(std::move(index));
    return static_cast<int>(program_.indices_.size()) - 1;
  }

  int atom(const AtomPtr& source) {
    if (const auto found = atoms_.find(source); found != atoms_.end()) return found->second;
    ExprProgram::Atom made{.kind = source->kind, .range = source->range};
    switch (source->kind) {
      case ir::Atom::Kind::axis:
        made.axis = axis(*source);
        made.axes = {made.axis};
        break;
      case ir::Atom::Kind::indirect:
        made.value = step(source->value);
        made.axes = program_.steps_[static_cast<size_t>(made.value)].axes;
        // Read wherever the index is.
        program_.steps_[static_cast<size_t>(made.value)].shared = true;
        break;
      case ir::Atom::Kind::symbol:
        throw InternalError(str("the reference needs the value of ", source->name));
      default:
        made.a = index(source->args[0]);
        made.b = index(source->args[1]);
        for (const int part : {made.a, made.b})
          join(made.axes, program_.indices_[static_cast<size_t>(part)].axes);
    }
    program_.atoms_.push_back(std::move(made));
    return atoms_[source] = static_cast<int>(program_.atoms_.size()) - 1;
  }

  ExprProgram& program_;
  std::unordered_map<uint64_t, int> numbers_;  // of axes, by id
  std::unordered_map<const ExprNode*, int> steps_;
  std::unordered_map<AtomPtr, int, ir::AtomHash, ir::AtomEqual> atoms_;
};

ExprProgram::ExprProgram(const Expr& expr, std::span<const SymInt> axes) {
  ExprCompiler compiler(*this);
  for (const SymInt& axis : axes)
    free_axes_.push_back(axis.is_const() ? -1 : compiler.axis(*axis.as_atom()));
  compiler.step(expr);
  num_axes_ = compiler.num_axes();
}

}  // namespace tcc::autotune
