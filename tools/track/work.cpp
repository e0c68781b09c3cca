#include "tools/track/work.h"

#include <map>
#include <span>

#include "ir/op.h"
#include "support/error.h"
#include "support/hash.h"

namespace tcc::tools {
namespace {

// The scheme. It grows when the hash of an unchanged graph changes: old records are then unknown,
// and no history is cut.
constexpr std::string_view kScheme = "1:";
constexpr int64_t kSpelledOut = 16;  // elements of a constant whose values count

class GraphHash {
 public:
  std::string of(const ir::Graph& graph, std::string_view matmul_precision) {
    Hasher all;
    all.add(matmul_precision);
    for (const ir::Value* input : graph.inputs) {
      all.add(ir::to_string(input->type));
      hashes_[input] = leaf("input", *input);
    }
    for (const auto& node : graph.nodes()) add(*node);
    for (const ir::Value* output : graph.outputs) all.add(hash_of(*output));
    return all.hex();
  }

 private:
  void add(const ir::Node& node) {
    TCC_CHECK(node.subgraphs.empty(), "the work of subgraphs is not defined");
    Hasher hasher;
    hasher.add(node.op_name()).add(node.inputs.size());
    for (const ir::Value* input : node.inputs) hasher.add(input ? hash_of(*input) : "");
    // A new attribute that has its default changes no hash.
    for (const ir::AttrDef& def : node.op->attrs) {
      const std::string value = ir::to_string(node.attrs.find(def.name)->second);
      if (!def.default_value || ir::to_string(*def.default_value) != value)
        hasher.add(def.name).add(value);
    }
    const std::string hash = hasher.hex();
    for (const ir::Value* output : node.outputs)
      hashes_[output] =
          Hasher().add(hash).add(output->output_index).add(ir::to_string(output->type)).hex();
  }

  const std::string& hash_of(const ir::Value& value) {
    const auto [found, is_new] = hashes_.try_emplace(&value);
    if (is_new) found->second = constant(value);
    return found->second;
  }

  // Inputs and weights are told apart by their order: one that is used twice is less work than two.
  std::string leaf(const char* kind, const ir::Value& value) {
    return Hasher().add(kind).add(leaves_++).add(ir::to_string(value.type)).hex();
  }

  std::string constant(const ir::Value& value) {
    TCC_CHECK(value.is_constant(), "a value without a producer: ", value.name);
    if (value.is_mutable) return leaf("mutable weight", value);
    Hasher hasher;
    hasher.add("constant").add(ir::to_string(value.type));
    if (const auto splat = value.data->splat()) return hasher.add(*splat).hex();
    if (!value.data->is_literal()) return leaf("weight", value);
    const TensorPtr tensor = value.data->load();
    if (tensor->numel() > kSpelledOut) return leaf("weight", value);
    return hasher.add(std::span(tensor->data(), tensor->bytes())).hex();
  }

  std::map<const ir::Value*, std::string> hashes_;
  int64_t leaves_ = 0;
};

}  // namespace

std::string work_of(const ir::Graph& graph, std::string_view matmul_precision) {
  return std::string(kScheme) + GraphHash().of(graph, matmul_precision);
}

std::string work_of(const autotune::BoundKernel& kernel) {
  Hasher hasher;
  hasher.add("kernel").add(kernel.operands_text());
  for (const auto& [dim, value] : kernel.dims()) hasher.add(dim).add(value);
  return std::string(kScheme) + hasher.hex();
}

bool works_differ(std::string_view one, std::string_view other) {
  const auto scheme = [](std::string_view work) { return work.substr(0, work.find(':')); };
  return !one.empty() && !other.empty() && scheme(one) == scheme(other) && one != other;
}

}  // namespace tcc::tools
