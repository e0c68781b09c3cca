// The reference: a graph evaluated on the CPU by the ops' plain C++ semantics. Every device is
// compared with it (docs/checking.md), and constants are folded by it.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/op.h"
#include "ir/tensor.h"

namespace tcc::ir {

enum class RefMode {
  ideal,     // everything in f64, nothing is rounded
  stepwise,  // every node's float outputs are rounded to their dtype, as in an eager framework
  noisy,     // ideal, but what would be rounded is changed by seeded noise of that size (noise.h)
};

// Values of states. A state that is not there has its first value.
using RefStates = std::map<const Value*, RefTensor>;

struct InterpretOptions {
  // Sees the outputs of every node that is evaluated before they are handed on, and may change
  // their elements. Nodes inside a composition are not shown.
  std::function<void(const Node&, std::span<RefTensor>)> observe;
  // In stepwise mode, true cuts f32 operands of matrix products and convolutions to tf32 (matrix
  // units do not read their last 13 bits), and sums of f8 products to the bits that matrix units
  // keep. false cuts only the f8 sums of each 128 of k so.
  bool tf32 = false;
  uint64_t seed = 0;  // of noisy mode
  // When set, the run begins with these values, and leaves those of the next run here. Without it
  // states have their first values.
  RefStates* states = nullptr;
};

// Returns the graph's outputs, for inputs in the order of graph.inputs. Integers wrap to their
// dtype and bools are 0 or 1 in both modes. A composite op without reference semantics is evaluated
// as its composition, in f64, and rounded once. Nodes that no output and no state needs are
// skipped; values and converted weights are freed after their last use.
//
// The graph must be bound (Graph::bind); the sizes of counted dims come while it is evaluated.
// Throws Error(bad_input) when an input's count, dtype or
// shape differs from the graph's, and whatever loading a weight throws.
std::vector<RefTensor> interpret(const Graph& bound_graph, const std::vector<RefTensor>& inputs,
                                 RefMode mode, const InterpretOptions& options = {});

// Converts any float dtype to f64, integers and bool to i64 (u64 as its bits). This is exact.
RefTensor to_ref(const Tensor& tensor);
// Converts back with rounding to nearest even into the tensor's dtype; integers wrap, bools become
// 0 or 1.
Tensor to_tensor(const RefTensor& tensor);

// Wraps integers, normalises bools, and rounds floats if asked to. The interpreter calls this for
// every node's outputs.
void normalize(RefTensor& tensor, bool round_floats);

}  // namespace tcc::ir
