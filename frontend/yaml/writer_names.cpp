#include "frontend/yaml/writer_names.h"

#include <algorithm>

#include "frontend/yaml/values.h"
#include "support/error.h"

namespace tcc::yaml {
namespace {

constexpr size_t kMaxSuffix = 16;  // what unique() may append

// The name itself where it is legal; otherwise what is not becomes '_'.
std::string legal(const std::string& name) {
  if (is_value_name(name)) return name;
  std::string result;
  for (const char c : name.substr(0, kMaxValueName - kMaxSuffix))
    result += is_value_name(std::string("_") + c) ? c : '_';
  return is_value_name(result) ? result : "_" + result;
}

}  // namespace

WriterNames::WriterNames(const ir::Graph& graph) {
  for (const ir::Value* input : graph.inputs) assign(input);
  for (const ir::Value* state : graph.states) assign(state);
  for (size_t k = 0; k < graph.outputs.size(); ++k)
    name_output(graph.output_names[k], graph.outputs[k]);
  for (const auto& value : graph.values())
    if (!names_.contains(value.get())) assign(value.get());
}

// A result takes the output's name. An input or a constant keeps its own: a caller knows it, and a
// weight's random numbers depend on it.
void WriterNames::name_output(const std::string& wanted, const ir::Value* value) {
  const auto known = names_.find(value);
  const bool is_new_constant = value->is_constant() && known == names_.end();
  if (known != names_.end() && known->second == legal(wanted) &&
      std::ranges::find(outputs_, known->second) == outputs_.end()) {
    outputs_.push_back(known->second);
    return;
  }
  const bool is_own = is_new_constant && value->name == wanted;
  outputs_.push_back(unique(wanted));
  if (known == names_.end() && (!value->is_constant() || is_own))
    names_[value] = outputs_.back();
  else
    copies_.emplace_back(outputs_.back(), value);
}

void WriterNames::assign(const ir::Value* value) { names_[value] = unique(value->name); }

std::string WriterNames::unique(const std::string& wanted) {
  const std::string base = legal(wanted);
  if (taken_.insert(base).second) return base;
  int64_t& number = next_.try_emplace(base, 2).first->second;
  for (;; ++number) {
    const std::string name = str(base.substr(0, kMaxValueName - kMaxSuffix), "_", number);
    if (taken_.insert(name).second) return name;
  }
}

}  // namespace tcc::yaml
