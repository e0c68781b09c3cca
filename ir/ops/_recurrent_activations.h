// The activation functions of recurrent layers, by ONNX's names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/op.h"

namespace tcc::ir::ops {

using Activation = std::function<Value*(Builder&, Value*)>;

// Returns the functions that `names`, separated by spaces, stand for: ONNX's, in any case and with
// or without underscores ("HardSigmoid", "hard_sigmoid"). Functions with parameters take the next
// entry of `alphas` and `betas`, or ONNX's default once these have run out. Calls `fail` with the
// reason for an unknown name and for entries left over.
std::vector<Activation> recurrent_activations(const std::vector<std::string>& names,
                                              const std::vector<double>& alphas,
                                              const std::vector<double>& betas,
                                              const std::function<void(const std::string&)>& fail);
// Functions [first, first + count) of such a list, with the entries that they take.
struct ActivationList {
  std::vector<std::string> names;
  std::vector<double> alphas, betas;
};
ActivationList part_of(const ActivationList& list, size_t first, size_t count);
std::vector<std::string> activation_names(const std::string& text);

}  // namespace tcc::ir::ops
