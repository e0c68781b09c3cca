// A graph with open dims: compiled once, run at several sizes, and compared with the reference.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "ir/text.h"
#include "tests/run_graph.h"

namespace tcc::test {

using Sizes = std::map<std::string, int64_t, std::less<>>;

// "" when the outputs are right at all sizes, else at which they are not and why.
inline std::string difference_at(const ir::Graph& graph, const std::string& device_name,
                                 const backends::CompileOptions& options,
                                 std::span<const Sizes> sizes, const DrawOptions& draw) {
  try {
    const std::shared_ptr<runtime::Device> device = open_once(device_name);
    const auto program = std::make_shared<const runtime::Program>(
        device, backends::compile(graph, device->target(), options));
    for (const Sizes& own : sizes) {
      const ir::Graph bound = graph.bind(own);
      const std::vector<Tensor> inputs = draw_inputs(bound, draw);
      runtime::Context context(program, nullptr, own);
      const std::string text = compare_with_reference(bound, inputs, context.run(inputs));
      if (text.empty()) continue;
      std::string at;
      for (const auto& [dim, size] : own) at += str(at.empty() ? "" : ", ", dim, " = ", size);
      return str("at ", at, ": ", text, ir::print_graph(bound));
    }
  } catch (const std::exception& error) { return str("throws: ", error.what()); }
  return "";
}

}  // namespace tcc::test
