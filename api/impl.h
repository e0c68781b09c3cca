// What the public handles point to. Files that include this must include it before tcc/tcc.hpp (see
// tcc/error.hpp).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "ir/graph.h"
#include "runtime/program.h"
#include "support/error.h"

#include "tcc/tcc.hpp"

namespace tcc {

struct Graph::Impl {
  ir::Graph graph;
};

struct CompiledGraph::Impl {
  std::shared_ptr<const runtime::Program> program;
};

// Copies. `name` stands for the tensor in the message when it is damaged: Error(bad_input).
Tensor to_tensor(const HostTensor& host, const std::string& name);
HostTensor to_host(const Tensor& tensor);

}  // namespace tcc
