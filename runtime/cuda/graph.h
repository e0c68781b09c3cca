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

 private:
  std::shared_ptr<const Context> context_;
  CUgraphExec executable_ = nullptr;
};

}  // namespace tcc::runtime::cuda
