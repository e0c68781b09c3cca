// The data of a constant that fold_constants made.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace tcc::ir {

// A folded node with everything that is needed to evaluate it, independent of the graph it came
// from.
struct Folding {
  const OpDef* op;
  Attrs attrs;
  Location location;
  struct Operand {
    std::string name;
    Type type;
    ConstantPtr data;  // null for an omitted operand
  };
  std::vector<Operand> operands;
  std::vector<Type> results;
  int depth = 1;  // foldings on the longest way to a constant that was given, this one included
};
using FoldingPtr = std::shared_ptr<const Folding>;

class FoldedConstant : public ConstantData {
 public:
  // Result `output` of the folded node.
  FoldedConstant(FoldingPtr folding, int output);
  TensorPtr load() const override { return data_->load(); }
  std::optional<double> splat() const override { return data_->splat(); }
  // Returns whether the text IR may spell it out: when all that it is made of is spelled out.
  bool is_literal() const override { return is_literal_; }

  const FoldingPtr& folding() const { return folding_; }
  int output() const { return output_; }
  // The value of every element before it is rounded to the dtype.
  std::optional<double> ideal_splat() const { return ideal_splat_; }

 private:
  FoldingPtr folding_;
  int output_;
  std::optional<double> ideal_splat_;
  bool is_literal_;
  ConstantPtr data_;
};

// The unrounded value of every element of `data`, where it is known.
std::optional<double> ideal_splat(const ConstantData& data);

// The unrounded value of every element of the folded node's only result, where all operands are
// splats and the op makes a splat of them: a view, or a pointwise op whose element does not depend
// on where it lies.
std::optional<double> ideal_splat(const Folding& folding);

}  // namespace tcc::ir
