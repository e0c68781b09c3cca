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
  const DriverApi& api = context_->api();
  graph_ = capture(*context_, stream.get(), enqueue);
  if (const CUresult result = api.cuGraphInstantiateWithFlags(&executable_, graph_, 0);
      result != CUDA_SUCCESS) {
    api.cuGraphDestroy(graph_);
    context_->check(result, "cuGraphInstantiateWithFlags");
  }
  if (const CUresult result = api.cuGraphUpload(executable_, stream.get());
      result != CUDA_SUCCESS) {
    api.cuGraphExecDestroy(executable_);
    api.cuGraphDestroy(graph_);
    context_->check(result, "cuGraphUpload");
  }
}

Graph::~Graph() {
  const ContextScope scope(*context_, std::nothrow);
  const CaptureTolerantScope tolerant(*context_);
  context_->api().cuGraphExecDestroy(executable_);
  context_->api().cuGraphDestroy(graph_);
}

CUgraphNode last_captured(const Context& context, CUstream stream) {
  const auto& info = context.api().cuStreamGetCaptureInfo_v3;
  if (!info) return nullptr;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUgraphNode* last = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  size_t count = 0;
  context.check(info(stream, &status, nullptr, nullptr, &last, &edges, &count),
                "cuStreamGetCaptureInfo");
  return count == 1 ? last[0] : nullptr;
}

}  // namespace tcc::runtime::cuda
