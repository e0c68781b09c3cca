#include "scheduler/kernel_names.h"

namespace tcc::sched {

KernelNames::KernelNames(const Kernel& kernel) : taken_{"block", "thread"} {
  for (size_t i = 0; i < kernel.arguments.size(); ++i) taken_.insert("b" + std::to_string(i));
  for (const Array& a : kernel.shared) taken_.insert(a.name);
  note(kernel.body);
  for (const Hook& hook : kernel.hooks) {
    for (const Hook::Parameter& p : hook.parameters) taken_.insert(p.name);
    note(hook.body);
  }
}

std::string KernelNames::fresh(std::string_view stem) {
  for (;;) {
    std::string name = std::string(stem) + std::to_string(next_++);
    if (taken_.insert(name).second) return name;
  }
}

void KernelNames::note(const Block& block) {
  for (const Stmt& stmt : block) {
    taken_.insert(stmt.name);
    note(stmt.axis);
    note(stmt.index);
    if (stmt.value) note(stmt.value);
    note(stmt.body);
    note(stmt.otherwise);
  }
}

void KernelNames::note(const Expr& e) {
  ir::visit(e, [this](const Expr& node) {
    note(node->index);
    for (const SymInt& axis : node->axes) note(axis);
  });
}

void KernelNames::note(const SymInt& index) {
  index.visit_atoms([this](const ir::AtomPtr& atom) {
    if (!atom->name.empty()) taken_.insert(atom->name);
    if (atom->value) note(atom->value);
  });
}

}  // namespace tcc::sched
