#include "scheduler/kernel_names.h"

#include <cctype>

#include "support/error.h"

namespace tcc::sched {

KernelNames::KernelNames(const Kernel& kernel, const Hook* hook, const Reserved& reserved)
    : taken_(reserved) {
  for (size_t i = 0; i < kernel.arguments.size(); ++i) taken_.insert("b" + std::to_string(i));
  for (const std::string& size : kernel.sizes) taken_.insert(size_name(size));
  if (!hook) {
    add(block_axis(kernel.grid));
    add(thread_axis(kernel.workgroup));
    for (const Array& array : kernel.shared) add(array.variable);
    add(kernel.body);
    return;
  }
  for (const Hook::Parameter& p : hook->parameters) {
    if (!p.is_index())
      add(p.array);
    else if (p.axis.is_const())
      parameters_[p.name] = fresh(p.name);
    else
      add(p.axis);
  }
  add(hook->body);
}

const std::string& KernelNames::of(uint64_t id, const std::string& hint) const {
  const auto found = names_.find(id);
  TCC_CHECK(found != names_.end(), hint, " is not in this kernel");
  return found->second;
}

const std::string& KernelNames::of(const ir::Atom& atom) const {
  if (atom.kind != ir::Atom::Kind::indirect) return of(atom.id, atom.name);
  const auto found = indirect_.find(atom);
  TCC_CHECK(found != indirect_.end(), atom.name, " is not in this kernel");
  return found->second;
}

const std::string& KernelNames::of(const Hook::Parameter& parameter) const {
  if (!parameter.is_index()) return of(parameter.array);
  return parameter.axis.is_const() ? parameters_.at(parameter.name) : of(*parameter.axis.as_atom());
}

std::string KernelNames::fresh(std::string_view stem) {
  TCC_CHECK(!stem.empty(), "a name without a hint");
  std::string name(stem);
  if (taken_.insert(name).second) return name;
  // "x1" and a number would look like another "x".
  std::string numbered = name;
  if (std::isdigit(static_cast<unsigned char>(name.back()))) numbered += "_";
  for (int& number = numbers_[name];;) {
    std::string next = numbered + std::to_string(++number);
    if (taken_.insert(next).second) return next;
  }
}

void KernelNames::add(uint64_t id, const std::string& hint) {
  if (const auto [entry, is_new] = names_.try_emplace(id); is_new) entry->second = fresh(hint);
}

void KernelNames::add(const Variable& variable) {
  if (variable.id != 0) add(variable.id, variable.name);
}

void KernelNames::add(const Block& block) {
  for (const Stmt& stmt : block) {
    add(stmt.axis);
    add(stmt.variable);
    for (const Variable& variable : stmt.variables) add(variable);
    add(stmt.index);
    if (stmt.value) add(stmt.value);
    add(stmt.body);
    add(stmt.otherwise);
  }
}

void KernelNames::add(const Expr& e) {
  ir::visit(e, [this](const Expr& node) {
    add(node->variable);
    add(node->index);
    for (const SymInt& axis : node->axes) add(axis);
  });
}

void KernelNames::add(const SymInt& index) {
  index.visit_atoms([this](const ir::AtomPtr& atom) {
    if (atom->kind == ir::Atom::Kind::axis) add(atom->id, atom->name);
    if (atom->kind != ir::Atom::Kind::indirect) return;
    if (const auto [entry, is_new] = indirect_.try_emplace(atom); is_new) {
      if (atom->value) add(atom->value);
      entry->second = fresh(atom->name);
    }
  });
}

}  // namespace tcc::sched
