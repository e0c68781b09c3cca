// The samples of ops as graphs that are compiled and run together: what the suites that loop over
// the op table share.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/text.h"
#include "tests/ops/op_samples.h"
#include "tests/run_graph.h"

namespace tcc::test {

inline bool has_float(const ir::OpSample& sample) {
  return std::ranges::any_of(sample.inputs, [](const ir::Type& t) { return is_float(t.dtype); });
}

// The sample with all floats of one type and every operand of one shape, whose elements pair up all
// special values; nothing where the op is not elementwise in that sense.
inline std::optional<ir::OpSample> elementwise_sample(const ir::OpDef& op, ir::OpSample sample,
                                                      int64_t elements, DType dtype = DType::f32) {
  for (ir::Type& type : sample.inputs) {
    type.shape = {elements};
    if (is_float(type.dtype)) type.dtype = dtype;
  }
  try {
    const ir::Graph graph = sample_graph(op, sample);
    if (graph.outputs.size() != 1 || graph.outputs[0]->shape() != ir::Shape{elements}) return {};
    return sample;
  } catch (const Error&) { return {}; }
}

// Graphs that share nothing, as one: compiled and run at once, which takes a fraction of the time.
class Batch {
 public:
  void add(const ir::Graph& graph, std::vector<Tensor> inputs) {
    const std::string prefix = str("s", cases_.size(), ".");
    std::map<const ir::Value*, ir::Value*> copies = {{nullptr, nullptr}};
    for (const auto& value : graph.values())
      if (value->is_constant())
        copies[value.get()] = all_.add_constant(prefix + value->name, value->type, value->data);
    for (const ir::Value* input : graph.inputs) {
      copies[input] = all_.add_input(prefix + input->name, input->type);
      copies[input]->random_range = input->random_range;
    }
    for (const ir::Value* state : graph.states)
      copies[state] = all_.add_state(prefix + state->name, state->type, state->data);
    for (const auto& node : graph.nodes()) {
      std::vector<ir::Value*> operands;
      for (const ir::Value* operand : node->inputs) operands.push_back(copies.at(operand));
      ir::Attrs attrs = node->attrs;
      if (const auto counted = ir::counted_dim(*node)) {
        const std::string dim = str(counted->name, "_", cases_.size());
        all_.dims[dim] = 0;
        attrs["size"] = ir::shape_attr({ir::SymInt::symbol(dim)});
      }
      const ir::Node* copy = all_.add_node(*node->op, operands, attrs);
      for (size_t i = 0; i < node->outputs.size(); ++i) copies[node->outputs[i]] = copy->outputs[i];
    }
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      all_.outputs.push_back(copies.at(graph.outputs[i]));
      all_.output_names.push_back(prefix + graph.output_names[i]);
    }
    inputs_.insert(inputs_.end(), inputs.begin(), inputs.end());
    cases_.push_back({graph.clone(), std::move(inputs)});
  }

  // "" or what differs from the reference, with the first graph that differs on its own.
  std::string difference(const std::string& device, const backends::CompileOptions& options) const {
    if (cases_.empty()) return "";
    const std::string together = test::difference(all_, device, inputs_, options);
    if (together.empty()) return "";
    for (size_t i = 0; i < cases_.size(); ++i) {
      const std::string alone =
          test::difference(cases_[i].graph, device, cases_[i].inputs, options);
      if (!alone.empty()) return str("sample ", i, ": ", alone, ir::print_graph(cases_[i].graph));
    }
    return "only together: " + together;
  }

  struct Case {
    ir::Graph graph;
    std::vector<Tensor> inputs;
  };
  const std::vector<Case>& cases() const { return cases_; }

  // The outputs of all graphs, one after another.
  std::vector<Tensor> run(const std::string& device,
                          const backends::CompileOptions& options) const {
    return run_on_device(all_, device, inputs_, options);
  }

 private:
  ir::Graph all_;
  std::vector<Tensor> inputs_;
  std::vector<Case> cases_;
};

inline std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const ir::OpDef& op : ir::all_ops()) names.push_back(op.name);
  return names;
}

}  // namespace tcc::test
