#include "autotune/schema2_keys.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "ir/op.h"
#include "support/hash.h"

namespace tcc::autotune {
namespace {

// Attributes that ops gained when there were records already were left out at their default.
bool is_written(const ir::Node& node, std::string_view key, const ir::Attr& attr) {
  if (key != "out_dtype" && key != "allow_empty") return true;
  const auto defined = std::ranges::find(node.op->attrs, key, &ir::AttrDef::name);
  return defined == node.op->attrs.end() || !defined->default_value ||
         ir::to_string(*defined->default_value) != ir::to_string(attr);
}

// Inputs stood in the order of their first use by the nodes, which were in the order of the graph.
std::vector<const ir::Value*> inputs_of(const sched::Region& region) {
  std::vector<const ir::Value*> inputs;
  for (const ir::Node* node : region.nodes)
    for (const ir::Value* input : node->inputs)
      if (input && region.slot_of_input(input) >= 0 &&
          std::ranges::find(inputs, input) == inputs.end())
        inputs.push_back(input);
  return inputs;
}

class Writer {
 public:
  explicit Writer(const sched::Region& region) : region_(region) { out_.precision(17); }

  std::string text() && {
    if (region_.strict_rounding) out_ << "strict;";
    if (region_.tf32) out_ << "tf32;";
    if (region_.unit_sums) out_ << "unit_sums;";
    for (const ir::Value* input : inputs_of(region_)) {
      describe(input);
      out_ << ";";
    }
    for (const ir::Node* node : region_.nodes) write(*node);
    for (const ir::Value* output : region_.outputs) {
      out_ << "->";
      describe(output);
    }
    return out_.str();
  }

 private:
  size_t number(const ir::Value* value) {
    return numbers_.try_emplace(value, numbers_.size()).first->second;
  }

  void describe(const ir::Value* value) {
    out_ << "%" << number(value) << ":" << ir::to_string(value->type);
    const auto layout = region_.layouts.find(value);
    if (layout == region_.layouts.end()) return;
    out_ << "{";
    for (const ir::SymInt& stride : layout->second.strides) out_ << stride << ",";
    out_ << "}";
  }

  void write(const ir::Node& node) {
    for (const ir::Value* output : node.outputs) out_ << "%" << number(output) << ",";
    out_ << "=" << node.op_name() << "(";
    for (const ir::Value* input : node.inputs) {
      if (!input)
        out_ << "-,";
      else if (input->is_constant() && region_.slot_of_input(input) < 0)
        out_ << ir::to_string(input->type) << "=" << input->data->splat().value_or(0) << ",";
      else
        out_ << "%" << number(input) << ",";
    }
    out_ << ")";
    for (const auto& [key, attr] : node.attrs)
      if (is_written(node, key, attr)) out_ << key << "=" << ir::to_string(attr) << " ";
    out_ << ";";
  }

  const sched::Region& region_;
  std::map<const ir::Value*, size_t> numbers_;
  std::ostringstream out_;
};

}  // namespace

std::string schema2_key(const sched::Region& region) {
  return hash_of(Writer(region).text()).hex();
}

}  // namespace tcc::autotune
