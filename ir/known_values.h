// What the values of a graph are known to be before it runs: shapes are computed from shapes, and a
// front end must follow that arithmetic to type what comes after it.
//
// A value is known when it follows from constants and from the dims of other values. Integers may
// be expressions of symbolic dims (`B*12`): the element functions of the ops are evaluated on them,
// so that there is no second set of rules for shape arithmetic.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace tcc::ir {

class KnownValues {
 public:
  // The elements, row-major, of an integer or bool value; nothing where they are not known, or more
  // than a shape would need.
  std::optional<std::vector<SymInt>> integers(const Value* value);
  // The whole tensor, where no symbol is in it; null where it is not known.
  TensorPtr tensor(const Value* value);

  // From now on, `value` (an input of a composition) has these elements.
  void set(const Value* value, std::vector<SymInt> elements);
  // Forgets what was found unknown: after an input has become a constant.
  void forget_unknown();

  // The graph inputs that `value` is computed from.
  static std::vector<const Value*> inputs_of(const Value* value);

 private:
  std::optional<std::vector<SymInt>> evaluate(const Value* value);
  std::optional<std::vector<SymInt>> elements_of(const Node& node);
  std::optional<std::vector<SymInt>> reduced(const Node& node);
  std::optional<std::vector<SymInt>> composed(const Node& node, int output);
  TensorPtr interpreted(const Value* value);

  std::map<const Value*, std::optional<std::vector<SymInt>>> integers_;
  std::map<const Value*, TensorPtr> tensors_;
  int depth_ = 0;
};

}  // namespace tcc::ir
