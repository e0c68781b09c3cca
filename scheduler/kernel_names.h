// The printed names of a kernel's axes and variables. Ids tell them apart; names are chosen here,
// once the kernel is complete.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "scheduler/kernel.h"

namespace tcc::sched {

// Returns the name of a size at run time in the kernel's text.
inline std::string size_name(const std::string& symbol) { return "size_" + symbol; }

class KernelNames {
 public:
  using Reserved = std::set<std::string, std::less<>>;

  // Names the axes and variables of the kernel's body, or of `hook`, in the order of the text. A
  // name is the hint, or the hint and a number where the hint is taken: by another axis or
  // variable, by `reserved`, or by a buffer of the emitter.
  explicit KernelNames(const Kernel& kernel, const Hook* hook = nullptr,
                       const Reserved& reserved = {});

  const std::string& of(const ir::Atom& atom) const;
  const std::string& of(const Variable& variable) const { return of(variable.id, variable.name); }
  // The name of a hook's parameter, used or not.
  const std::string& of(const Hook::Parameter& parameter) const;
  // Returns a name like `stem` that is not taken.
  std::string fresh(std::string_view stem);
  // Names a variable that is not in the kernel.
  void add(const Variable& variable);

 private:
  const std::string& of(uint64_t id, const std::string& hint) const;
  void add(uint64_t id, const std::string& hint);
  void add(const Block& block);
  void add(const Expr& e);
  void add(const SymInt& index);

  std::set<std::string, std::less<>> taken_;
  struct AtomLess {
    using is_transparent = void;
    static const ir::Atom& atom(const ir::AtomPtr& a) { return *a; }
    static const ir::Atom& atom(const ir::Atom& a) { return a; }
    bool operator()(const auto& a, const auto& b) const {
      return ir::compare(atom(a), atom(b)) < 0;
    }
  };
  std::unordered_map<uint64_t, std::string> names_;  // of axes and variables, by their ids
  std::map<ir::AtomPtr, std::string, AtomLess> indirect_;
  std::unordered_map<std::string, std::string> parameters_;  // that are not used, by hint
  std::unordered_map<std::string, int> numbers_;             // the next one, by stem
};

}  // namespace tcc::sched
