// The import table says which function imports which ONNX operator. One file per family in rules/;
// a rule composes ops of ir/ops and holds for every version of its operator up to kNewestOpset.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "frontend/onnx/op_node.h"

namespace tcc::onnx {

constexpr int kNewestOpset = 28;  // of the domain ai.onnx; newer ones are read as this one

struct Rule {
  std::string_view op;
  Results (*import)(OpNode&);
  std::string_view domain = {};
};

// Null for an operator without a rule.
const Rule* find_rule(std::string_view domain, std::string_view op);
// Every rule, ordered by domain and operator.
std::vector<const Rule*> all_rules();
// Returns the known operator whose name is closest, or "", for "did you mean".
std::string suggest_operator(std::string_view op);

// ---- the families

std::span<const Rule> activation_rules();
std::span<const Rule> arithmetic_rules();
std::span<const Rule> attention_rules();
std::span<const Rule> comparison_rules();
std::span<const Rule> control_flow_rules();
std::span<const Rule> convolution_rules();
std::span<const Rule> counted_rules();
std::span<const Rule> creation_rules();
std::span<const Rule> indexing_rules();
std::span<const Rule> loss_rules();
std::span<const Rule> matrix_rules();
std::span<const Rule> movement_rules();
std::span<const Rule> normalization_rules();
std::span<const Rule> onnx_attention_rules();
std::span<const Rule> pooling_rules();
std::span<const Rule> qlinear_rules();
std::span<const Rule> quantization_rules();
std::span<const Rule> random_rules();
std::span<const Rule> recurrent_rules();
std::span<const Rule> reduction_rules();
std::span<const Rule> resampling_rules();
std::span<const Rule> sequence_rules();
std::span<const Rule> shape_rules();
std::span<const Rule> signal_rules();
std::span<const Rule> sorting_rules();
std::span<const Rule> state_rules();

}  // namespace tcc::onnx
