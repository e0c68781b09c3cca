// The names that a kernel uses, and new ones.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "scheduler/kernel.h"

namespace tcc::sched {

class KernelNames {
 public:
  // Takes the names of axes, indirect indices, variables, arrays and hook parameters of `kernel`,
  // and those that the emitter gives it ("block", "thread", "b0").
  explicit KernelNames(const Kernel& kernel);

  // `stem` and the next number, of which neither the kernel nor an earlier call has made a name.
  std::string fresh(std::string_view stem);

 private:
  void note(const Block& block);
  void note(const Expr& e);
  void note(const SymInt& index);

  std::set<std::string> taken_;
  int next_ = 0;
};

}  // namespace tcc::sched
