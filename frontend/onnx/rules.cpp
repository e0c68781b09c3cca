#include "frontend/onnx/rules.h"

#include <map>
#include <utility>

#include "ir/suggest.h"

namespace tcc::onnx {
namespace {

using Table = std::map<std::pair<std::string_view, std::string_view>, const Rule*>;

const Table& table() {
  static const Table rules = [] {
    Table result;
    for (const std::span<const Rule> family :
         {activation_rules(),    arithmetic_rules(),     attention_rules(), comparison_rules(),
          control_flow_rules(),  convolution_rules(),    counted_rules(),   creation_rules(),
          indexing_rules(),      loss_rules(),           matrix_rules(),    movement_rules(),
          normalization_rules(), onnx_attention_rules(), pooling_rules(),   qlinear_rules(),
          quantization_rules(),  random_rules(),         recurrent_rules(), reduction_rules(),
          resampling_rules(),    sequence_rules(),       shape_rules(),     signal_rules(),
          sorting_rules(),       state_rules()})
      for (const Rule& rule : family) result.emplace(std::pair(rule.domain, rule.op), &rule);
    return result;
  }();
  return rules;
}

}  // namespace

const Rule* find_rule(std::string_view domain, std::string_view op) {
  const auto found = table().find({domain, op});
  return found == table().end() ? nullptr : found->second;
}

std::vector<const Rule*> all_rules() {
  std::vector<const Rule*> rules;
  for (const auto& [key, rule] : table()) rules.push_back(rule);
  return rules;
}

std::string suggest_operator(std::string_view op) {
  std::vector<std::string> names;
  for (const auto& [key, rule] : table()) names.emplace_back(key.second);
  return ir::did_you_mean(op, names);
}

}  // namespace tcc::onnx
