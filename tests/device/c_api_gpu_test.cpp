// The C ABI on a CUDA device: the caller's stream and memory, and capture by the caller.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "runtime/cuda/driver_api.h"
#include "runtime/device.h"
#include "tcc/c_api.h"
#include "tests/source_dir.h"

namespace tcc::runtime {
namespace {

using cuda::CUDA_SUCCESS;

#define CU(call) ASSERT_EQ(cuda::driver().call, CUDA_SUCCESS)
#define OK(call) ASSERT_EQ(call, TCC_OK) << tcc_last_error()

TEST(CApiOnCuda, RunsOnTheCallersStreamAndIsCaptured) {
  const DeviceList list = list_cuda();
  if (list.devices.empty()) GTEST_SKIP() << list.missing.front();

  tcc_graph* graph = nullptr;
  tcc_compiled* compiled = nullptr;
  OK(tcc_graph_load((testing::source_dir() / "configs/models/mlp.yaml").c_str(), &graph));
  OK(tcc_compile(graph, "cuda:0", nullptr, &compiled));
  tcc_tensor_info in = TCC_TENSOR_INFO_INIT, out = TCC_TENSOR_INFO_INIT;
  OK(tcc_compiled_input(compiled, 0, &in));
  OK(tcc_compiled_output(compiled, 0, &out));

  // The expected result, by way of host memory and a stream of tcc's own.
  std::vector<float> x(static_cast<size_t>(in.bytes) / 4), y(static_cast<size_t>(out.bytes) / 4);
  std::iota(x.begin(), x.end(), 0.0f);
  std::ranges::for_each(x, [](float& element) { element = element / 1e4f - 1; });
  tcc_context* own = nullptr;
  OK(tcc_context_create(compiled, &own));
  const void* host_inputs[] = {x.data()};
  void* host_outputs[] = {y.data()};
  OK(tcc_context_run_host(own, host_inputs, 1, host_outputs, 1));
  tcc_context_destroy(own);

  // A caller with memory, a stream and the primary context of its own.
  const auto device = open_device("cuda:0");
  const auto copies = device->create_stream();
  const auto device_x = device->allocate(in.bytes), device_y = device->allocate(out.bytes);
  copies->copy_to_device(*device_x, 0, std::as_bytes(std::span(x)));
  const void* inputs[] = {reinterpret_cast<const void*>(device_x->address())};
  void* outputs[] = {reinterpret_cast<void*>(device_y->address())};
  cuda::CUcontext primary = nullptr;
  CU(cuDevicePrimaryCtxRetain(&primary, 0));
  CU(cuCtxPushCurrent_v2(primary));
  cuda::CUstream stream = nullptr;
  CU(cuStreamCreate(&stream, cuda::CU_STREAM_NON_BLOCKING));

  tcc_context* context = nullptr;
  OK(tcc_context_create_on_stream(compiled, stream, &context));
  const auto expect_result = [&] {
    std::vector<float> got(y.size());
    copies->copy_to_host(std::as_writable_bytes(std::span(got)), *device_y, 0);
    EXPECT_EQ(got, y);
    copies->fill(*device_y, 0, device_y->bytes(), 0xff);
    copies->synchronize();
  };
  OK(tcc_context_run(context, inputs, 1, outputs, 1));
  OK(tcc_context_synchronize(context));
  expect_result();

  CU(cuStreamBeginCapture_v2(stream, cuda::CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(tcc_context_run(context, inputs, 1, outputs, 1));
  cuda::CUgraph captured = nullptr;
  CU(cuStreamEndCapture(stream, &captured));
  cuda::CUgraphExec executable = nullptr;
  CU(cuGraphInstantiateWithFlags(&executable, captured, 0));
  for (int i = 0; i < 2; ++i) {
    CU(cuGraphLaunch(executable, stream));
    OK(tcc_context_synchronize(context));
    expect_result();
  }

  tcc_context_destroy(context);
  tcc_compiled_destroy(compiled);
  tcc_graph_destroy(graph);
  CU(cuGraphExecDestroy(executable));
  CU(cuGraphDestroy(captured));
  CU(cuStreamDestroy_v2(stream));
  cuda::CUcontext popped = nullptr;
  CU(cuCtxPopCurrent_v2(&popped));
  CU(cuDevicePrimaryCtxRelease_v2(0));
}

}  // namespace
}  // namespace tcc::runtime
