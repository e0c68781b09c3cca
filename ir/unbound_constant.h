// A constant whose shape has symbols: there is no tensor before they are numbers.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "support/error.h"

namespace tcc::ir {

class UnboundConstant : public ConstantData {
 public:
  // Returns the constant of that shape, with which Graph::bind() replaces this one. Throws
  // Error(bad_input) where there is none.
  virtual ConstantPtr bind(const std::vector<int64_t>& shape) const = 0;

  TensorPtr load() const final { throw InternalError("a constant is loaded before it is bound"); }
};

}  // namespace tcc::ir
