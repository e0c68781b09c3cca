// An executable CUDA graph, captured from a stream.
#pragma once

#include <functional>
#include <memory>

#include "runtime/cuda/context.h"

namespace tcc::runtime::cuda {

class Graph {
 public:
  // Captures what `enqueue` puts on the stream it is given, and uploads it, so that a launch
  // allocates nothing.
  Graph(std::shared_ptr<const Context> context, const std::function<void(CUstream)>& enqueue);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Asynchronous. The context must be current.
  void launch(CUstream stream) const { TCC_CUDA(*context_, cuGraphLaunch, executable_, stream); }
  CUgraphExec executable() const { return executable_; }

 private:
  std::shared_ptr<const Context> context_;
  CUgraph graph_ = nullptr;  // its nodes name those of the executable
  CUgraphExec executable_ = nullptr;
};

// Returns the node of the last call on a stream that is being captured; null where the driver does
// not tell.
CUgraphNode last_captured(const Context& context, CUstream stream);

}  // namespace tcc::runtime::cuda
