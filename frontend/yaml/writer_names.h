// The names that a graph's values get in YAML: legal there and unique.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace tcc::yaml {

class WriterNames {
 public:
  explicit WriterNames(const ir::Graph& graph);

  const std::string& of(const ir::Value* value) const { return names_.at(value); }
  // The names of the outputs, in their order.
  const std::vector<std::string>& outputs() const { return outputs_; }
  // Outputs that are another name of a value: each takes an `identity`.
  const std::vector<std::pair<std::string, const ir::Value*>>& copies() const { return copies_; }

 private:
  void name_output(const std::string& wanted, const ir::Value* value);
  void assign(const ir::Value* value);
  std::string unique(const std::string& wanted);

  std::map<const ir::Value*, std::string> names_;
  std::vector<std::string> outputs_;
  std::vector<std::pair<std::string, const ir::Value*>> copies_;
  std::set<std::string> taken_;
  std::map<std::string, int64_t> next_;  // of names that are taken: the number to try
};

}  // namespace tcc::yaml
