#include "runtime/cuda/graph.h"

#include "runtime/cuda/handles.h"

namespace tcc::runtime::cuda {
namespace {

CUgraph capture(const Context& context, CUstream stream,
                const std::function<void(CUstream)>& enqueue) {
  // Relaxed: the capture forbids nothing to other threads.
  TCC_CUDA(context, cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  CUgraph graph = nullptr;
  try {
    enqueue(stream);
  } catch (...) {
    if (context.api().cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS && graph)
      context.api().cuGraphDestroy(graph);
    throw;
  }
  TCC_CUDA(context, cuStreamEndCapture, stream, &graph);
  return graph;
}

}  // namespace

Graph::Graph(std::shared_ptr<const Context> context, const std::function<void(CUstream)>& enqueue)
    : context_(std::move(context)) {
  const ContextScope scope(*context_);
  const CaptureTolerantScope tolerant(*context_);
  const OwnedStream stream(context_);
  const CUgraph graph = capture(*context_, stream.get(), enqueue);
  const CUresult instantiated = context_->api().cuGraphInstantiateWithFlags(&executable_, graph, 0);
  context_->api().cuGraphDestroy(graph);
  context_->check(instantiated, "cuGraphInstantiateWithFlags");
  const CUresult uploaded = context_->api().cuGraphUpload(executable_, stream.get());
  if (uploaded != CUDA_SUCCESS) context_->api().cuGraphExecDestroy(executable_);
  context_->check(uploaded, "cuGraphUpload");
}

Graph::~Graph() {
  const ContextScope scope(*context_, std::nothrow);
  const CaptureTolerantScope tolerant(*context_);
  context_->api().cuGraphExecDestroy(executable_);
}

}  // namespace tcc::runtime::cuda
