// Finds values of a graph that are known before it runs: shapes are computed from shapes, and a
// front end must follow that arithmetic to type the nodes after it.
//
// A value is known when it follows from constants and from the dims of other values. Its elements
// may be expressions of symbolic dims (`B*12`), floats quotients of such (`H/2`, before a floor):
// the element functions of the ops are evaluated on them, so that there is no second set of rules
// for shape arithmetic.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "ir/graph.h"
#include "ir/ratio.h"

namespace tcc::ir {

class KnownValues {
 public:
  // The elements, row-major, of an integer or bool value; nothing where they are not known, or more
  // than a shape would need.
  //
  // All values together may take a bounded amount of work: a graph that computes at length what its
  // shapes are stays unknown from there on.
  std::optional<std::vector<SymInt>> integers(const Value* value);
  // Does the same, and for floats too where all elements are whole numbers.
  std::optional<std::vector<SymInt>> whole_numbers(const Value* value);
  // Returns the whole tensor, where it has no symbol; null where it is not known.
  TensorPtr tensor(const Value* value);

  // Forgets which values are unknown. Called after an input has become a constant.
  void forget_unknown();

  // Returns the graph inputs that `value` is computed from.
  static std::vector<const Value*> inputs_of(const Value* value);

 private:
  using Elements = std::optional<std::vector<Ratio>>;
  friend class KnownOperands;

  // From now on, `value` (an input of a composition) has these elements.
  void set(const Value* value, std::vector<Ratio> elements);
  // Makes entries of `elements_` (`tensors_`) for the value and all that it is computed from,
  // operands first and without recursion: chains of operands can be long.
  const Elements& find_elements(const Value* value);
  TensorPtr find_tensor(const Value* value);

  Elements evaluate(const Value* value);
  Elements elements_of(const Node& node);
  Elements reduced(const Node& node);
  Elements composed(const Node& node, int output);
  TensorPtr interpreted(const Value* value);
  // Returns whether that much work is left, and spends it.
  bool spend(int64_t& budget, int64_t work);

  std::map<const Value*, Elements> elements_;
  std::map<const Value*, TensorPtr> tensors_;
  int64_t symbolic_work_ = int64_t{1} << 19;  // elements, times operands
  int64_t tensor_work_ = int64_t{1} << 24;    // elements
  int nesting_ = 0;                           // compositions in compositions
};

}  // namespace tcc::ir
