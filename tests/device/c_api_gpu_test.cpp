// The C ABI on a CUDA device: the caller's stream and memory, and capture by the caller.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string_view>
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

// A caller with a graph, and memory, a stream and the primary context of its own.
class CApiOnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    const DeviceList list = device_kind("cuda").list();
    if (list.devices.empty()) GTEST_SKIP() << list.missing.front();
    OK(tcc_graph_load((testing::source_dir() / "configs/models/mlp.yaml").c_str(), &graph_));
    OK(tcc_compile(graph_, "cuda:0", nullptr, &compiled_));
    OK(tcc_compiled_input(compiled_, 0, &in_));
    OK(tcc_compiled_output(compiled_, 0, &out_));
    x_.resize(static_cast<size_t>(in_.bytes) / 4);
    y_.resize(static_cast<size_t>(out_.bytes) / 4);
    std::iota(x_.begin(), x_.end(), 0.0f);
    std::ranges::for_each(x_, [](float& element) { element = element / 1e4f - 1; });
    expected_by_way_of_host_memory();

    device_ = open_device("cuda:0");
    copies_ = device_->create_stream();
    device_x_ = device_->allocate(in_.bytes + kRoom);
    device_y_ = device_->allocate(out_.bytes + kRoom);
    CU(cuDevicePrimaryCtxRetain(&primary_, 0));
    CU(cuCtxPushCurrent_v2(primary_));
    CU(cuStreamCreate(&stream_, cuda::CU_STREAM_NON_BLOCKING));
    OK(tcc_context_create_on_stream(compiled_, stream_, &context_));
    place(0);
  }

  void TearDown() override {
    tcc_context_destroy(context_);
    tcc_compiled_destroy(compiled_);
    tcc_graph_destroy(graph_);
    if (!stream_) return;
    CU(cuStreamDestroy_v2(stream_));
    cuda::CUcontext popped = nullptr;
    CU(cuCtxPopCurrent_v2(&popped));
    CU(cuDevicePrimaryCtxRelease_v2(0));
  }

  // The input and the output lie `offset` bytes into their buffers from now on.
  void place(int64_t offset) {
    offset_ = offset;
    copies_->copy_to_device(*device_x_, offset, std::as_bytes(std::span(x_)));
    inputs_[0] =
        reinterpret_cast<const void*>(device_x_->address() + static_cast<uint64_t>(offset));
    outputs_[0] = reinterpret_cast<void*>(device_y_->address() + static_cast<uint64_t>(offset));
    poison();
  }

  tcc_status run() { return tcc_context_run(context_, inputs_, 1, outputs_, 1); }

  // Runs between `begin` and `end` of a capture, whose graph it gives.
  void capture(tcc_status expected, cuda::CUgraph* graph) {
    CU(cuStreamBeginCapture_v2(stream_, cuda::CU_STREAM_CAPTURE_MODE_GLOBAL));
    EXPECT_EQ(run(), expected) << tcc_last_error();
    CU(cuStreamEndCapture(stream_, graph));
  }

  void expect_result_of_replays(cuda::CUgraph graph) {
    cuda::CUgraphExec executable = nullptr;
    CU(cuGraphInstantiateWithFlags(&executable, graph, 0));
    for (int i = 0; i < 2; ++i) {
      CU(cuGraphLaunch(executable, stream_));
      expect_result();
    }
    CU(cuGraphExecDestroy(executable));
    CU(cuGraphDestroy(graph));
  }

  // Expects the result of what has been enqueued, and nothing before and behind it.
  void expect_result() {
    OK(tcc_context_synchronize(context_));
    std::vector<float> got(y_.size());
    copies_->copy_to_host(std::as_writable_bytes(std::span(got)), *device_y_, offset_);
    EXPECT_EQ(got, y_);
    std::vector<std::byte> behind(static_cast<size_t>(kRoom - offset_)),
        before(static_cast<size_t>(offset_));
    copies_->copy_to_host(before, *device_y_, 0);
    copies_->copy_to_host(behind, *device_y_, offset_ + out_.bytes);
    for (const std::vector<std::byte>& around : {before, behind})
      EXPECT_TRUE(std::ranges::all_of(around, [](std::byte b) { return b == std::byte{0xff}; }));
    poison();
  }

  static constexpr int64_t kRoom = 64;
  tcc_context* context_ = nullptr;
  const void* inputs_[1] = {};
  void* outputs_[1] = {};

 private:
  void expected_by_way_of_host_memory() {
    tcc_context* own = nullptr;
    OK(tcc_context_create(compiled_, &own));
    const void* inputs[] = {x_.data()};
    void* outputs[] = {y_.data()};
    OK(tcc_context_run_host(own, inputs, 1, outputs, 1));
    tcc_context_destroy(own);
  }

  void poison() {
    copies_->fill(*device_y_, 0, device_y_->bytes(), 0xff);
    copies_->synchronize();
  }

  tcc_graph* graph_ = nullptr;
  tcc_compiled* compiled_ = nullptr;
  tcc_tensor_info in_ = TCC_TENSOR_INFO_INIT, out_ = TCC_TENSOR_INFO_INIT;
  std::vector<float> x_, y_;
  std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> copies_;
  std::unique_ptr<Buffer> device_x_, device_y_;
  int64_t offset_ = 0;
  cuda::CUcontext primary_ = nullptr;
  cuda::CUstream stream_ = nullptr;
};

TEST_F(CApiOnCuda, RunsOnTheCallersStreamAndIsCaptured) {
  OK(run());
  expect_result();
  cuda::CUgraph captured = nullptr;
  capture(TCC_OK, &captured);
  expect_result_of_replays(captured);
}

// Pointers may be into a larger tensor: copies serve them, and a capture allocates nothing.
TEST_F(CApiOnCuda, PointersNeedBeAlignedToTheirElementsOnly) {
  place(4);
  cuda::CUgraph captured = nullptr;
  capture(TCC_BAD_INPUT, &captured);
  EXPECT_NE(std::string_view(tcc_last_error()).find("while the stream is captured"),
            std::string_view::npos)
      << tcc_last_error();
  CU(cuGraphDestroy(captured));
  OK(tcc_context_reserve(context_, inputs_, 1, outputs_, 1));
  capture(TCC_OK, &captured);
  expect_result_of_replays(captured);
  for (const int64_t offset : {12, 16, 20, 0}) {
    place(offset);
    OK(run());
    expect_result();
  }
  inputs_[0] = static_cast<const char*>(inputs_[0]) + 2;
  EXPECT_EQ(run(), TCC_BAD_INPUT);
}

}  // namespace
}  // namespace tcc::runtime
