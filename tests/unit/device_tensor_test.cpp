// Tensors in device memory, memory of the caller's, and DLPack, on a device that runs kernels and
// on "null", whose memory is the host's.
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "api/dlpack_abi.h"

#include "tcc/c_api.h"
#include "tcc/tcc.hpp"
#include "tests/expect_error.h"

namespace tcc {
namespace {

constexpr const char* kDouble =
    "tcc: 1\n"
    "inputs: {x: {dtype: f32, shape: [3, 4]}}\n"
    "states: {s: {dtype: f32, shape: [3, 4]}}\n"
    "nodes:\n"
    "  - {out: a, op: add, in: [s, x]}\n"
    "  - {out: t, op: assign, in: [s, a]}\n"
    "  - {out: y, op: mul, in: [t, 2.0]}\n"
    "outputs: [y]\n";

std::string device_that_runs() {
  const DeviceList list = list_devices();
  return list.devices.empty() ? "" : list.devices.front().id;
}

HostTensor ones() { return HostTensor::of<float>({3, 4}, std::vector<float>(12, 1)); }

float first(const DeviceTensor& tensor) { return tensor.to_host().as<float>()[0]; }

TEST(DeviceTensors, RunGraphsAndAreChecked) {
  const std::string device = device_that_runs();
  if (device.empty()) GTEST_SKIP() << "no device";
  const CompiledGraph compiled = compile(Graph::from_yaml(kDouble), device);
  Context context(compiled);
  const DeviceTensor x(device, ones()), y(device, compiled.outputs()[0]), s(device, ones());
  EXPECT_EQ(x.device(), device);
  EXPECT_EQ(x.dtype(), "f32");
  EXPECT_EQ(y.shape(), (std::vector<std::int64_t>{3, 4}));
  context.run_device(std::vector{x}, std::vector{y});
  EXPECT_EQ(first(y), 2);
  context.run_device_named({{"x", x}}, {{"y", y}});
  EXPECT_EQ(first(y), 4);
  context.bind_state("s", s);
  context.run_device(std::vector{x}, std::vector{y});
  EXPECT_EQ(first(y), 4);
  EXPECT_EQ(first(s), 2);

  const DeviceTensor flat(x.memory(), 0, "f32", {12}), whole(x.memory(), 0, "i32", {3, 4});
  EXPECT_ERROR(context.run_device(std::vector{flat}, std::vector{y}),
               "input 'x' is f32[3, 4], not f32[12]");
  EXPECT_ERROR(context.run_device(std::vector{x}, std::vector{whole}),
               "output 'y' is f32[3, 4], not i32[3, 4]");
  EXPECT_ERROR(context.run_device(std::vector<DeviceTensor>{}, std::vector{y}), "1 input");
  EXPECT_ERROR(context.run_device(std::vector{x}, std::vector{x}), "shares memory with input 'x'");
  EXPECT_ERROR(context.bind_state("s", flat), "state 's' is f32[3, 4], not f32[12]");
  EXPECT_ERROR(context.run_device(std::vector{s}, std::vector{y}), "shares memory with state 's'");
}

TEST(DeviceTensors, TellTheSizesOfOpenDims) {
  const std::string device = device_that_runs();
  if (device.empty()) GTEST_SKIP() << "no device";
  const CompiledGraph compiled =
      compile(Graph::from_yaml("tcc: 1\ndims: {B: 4}\ninputs: {x: {dtype: f32, shape: [B, 3]}}\n"
                               "nodes: [{out: y, op: mul, in: [x, 2.0]}]\noutputs: [y]\n"),
              device, {.open_dims = {"B"}});
  Context context(compiled);
  for (const std::int64_t size : {5, 1, 300}) {
    const auto count = static_cast<std::size_t>(3 * size);
    const DeviceTensor x(device, HostTensor::of<float>({size, 3}, std::vector<float>(count, 2)));
    const DeviceTensor y(device, "f32", {size, 3});
    context.run_device(std::vector{x}, std::vector{y});
    EXPECT_EQ(y.to_host().as<float>()[count - 1], 4) << size;
    EXPECT_ERROR(
        context.run_device(std::vector{x}, std::vector{DeviceTensor(device, "f32", {size + 1, 3})}),
        "output 'y' is f32[");
  }
}

TEST(DeviceTensors, LieInPartsOfABuffer) {
  const DeviceBuffer memory("null", 100);
  const DeviceTensor part(memory.slice(8, 64), 16, "f32", {2, 3});
  EXPECT_EQ(part.offset(), 24);
  EXPECT_EQ(part.bytes(), 24);
  part.write(HostTensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(DeviceTensor(memory, 28, "f32", {1}).to_host().as<float>()[0], 2);
  EXPECT_ERROR(DeviceTensor(memory, 80, "f32", {6}), "of a device buffer of 100");
  EXPECT_ERROR(DeviceTensor(memory, -4, "f32", {1}), "of a device buffer of 100");
  EXPECT_ERROR(DeviceTensor(memory, 2, "f32", {1}), "no multiple of 4");
  EXPECT_ERROR(DeviceTensor(memory, 0, "f33", {1}), "'f33' is no dtype");
  EXPECT_ERROR(DeviceTensor(memory, 0, "f32", {-1}), "a negative dim");
  EXPECT_ERROR(DeviceTensor("null", "f32", {1 << 30, 1 << 30, 1 << 30}), "too large");
  EXPECT_ERROR(part.write(ones()), "another type");
  EXPECT_EQ(DeviceTensor("null", "f32", {0, 5}).to_host().shape, (std::vector<std::int64_t>{0, 5}));
  EXPECT_EQ(DeviceTensor().bytes(), 0);
}

TEST(WrappedMemory, IsReleasedOnce) {
  std::vector<float> host(64, 3);
  int released = 0;
  {
    const auto address = reinterpret_cast<std::uint64_t>(host.data());
    const DeviceBuffer memory = DeviceBuffer::wrap("null", address, 256, [&] { ++released; });
    const DeviceTensor part(memory, 16, "f32", {2});
    EXPECT_EQ(part.to_host().as<float>()[1], 3);
    part.write(HostTensor::of<float>({2}, {4, 5}));
    EXPECT_EQ(host[5], 5);
    // Another handle of the same bytes is known as such.
    const DeviceBuffer twin = DeviceBuffer::wrap("null", address + 32, 48);
    Context context(compile(Graph::from_yaml(kDouble), "null"));
    EXPECT_ERROR(context.run_device(std::vector{memory.slice(0, 48)}, std::vector{twin}),
                 "output 'y' shares memory with input 'x'");
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  EXPECT_ERROR(DeviceBuffer::wrap("null", 0, 4, [&] { ++released; }), "a null pointer");
  EXPECT_ERROR(DeviceBuffer::wrap("null", 64, -1, [&] { ++released; }), "-1 bytes");
  EXPECT_EQ(released, 1);
}

TEST(WrappedMemory, ABoundStateMayBeReplaced) {
  std::vector<float> host(24);
  int released = 0;
  Context context(compile(Graph::from_yaml(kDouble), "null"));
  for (int k = 0; k < 2; ++k)
    context.bind_state(
        "s", DeviceBuffer::wrap("null", reinterpret_cast<std::uint64_t>(&host[12 * k]), 48,
                                [&] { ++released; }));
  EXPECT_EQ(released, 1);
}

// A tensor of another framework, in host memory.
struct Foreign {
  std::vector<float> data = std::vector<float>(24, 1.5f);
  std::vector<std::int64_t> shape = {2, 3, 4}, strides = {12, 4, 1};
  int deleted = 0;
  DLManagedTensorVersioned managed{};
  DLManagedTensor old{};

  Foreign() {
    managed.version = {1, 0};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensorVersioned* self) {
      ++static_cast<Foreign*>(self->manager_ctx)->deleted;
    };
    managed.dl_tensor = {data.data(),  {dlpack::cpu, 0}, 3, {dlpack::floating, 32, 1},
                         shape.data(), strides.data(),   0};
    old.dl_tensor = managed.dl_tensor;
    old.manager_ctx = this;
    old.deleter = [](DLManagedTensor* self) {
      ++static_cast<Foreign*>(self->manager_ctx)->deleted;
    };
  }
};

TEST(Dlpack, TensorsAreTakenAndGivenBack) {
  Foreign foreign;
  {
    const DeviceTensor tensor = DeviceTensor::from_dlpack(&foreign.managed);
    EXPECT_EQ(tensor.device(), "null");
    EXPECT_EQ(tensor.shape(), foreign.shape);
    EXPECT_EQ(tensor.memory().address(), reinterpret_cast<std::uint64_t>(foreign.data.data()));
    const DeviceTensor copy = tensor;
    EXPECT_EQ(first(copy), 1.5f);
    EXPECT_EQ(foreign.deleted, 0);
  }
  EXPECT_EQ(foreign.deleted, 1);
  { const DeviceTensor tensor = DeviceTensor::from_dlpack(&foreign.old); }
  EXPECT_EQ(foreign.deleted, 2);

  foreign.managed.dl_tensor.byte_offset = 48;
  foreign.managed.dl_tensor.strides = nullptr;
  foreign.shape = {1, 3, 4};
  foreign.data[12] = 7;
  EXPECT_EQ(first(DeviceTensor::from_dlpack(&foreign.managed)), 7);
  foreign.shape = {0, 3, 4};
  foreign.managed.dl_tensor.data = nullptr;
  EXPECT_EQ(DeviceTensor::from_dlpack(&foreign.managed).bytes(), 0);
}

TEST(Dlpack, WhatIsReadOnlyIsNoOutput) {
  Foreign foreign;
  foreign.managed.flags = dlpack::kReadOnly;
  foreign.shape = {1, 3, 4};
  foreign.managed.dl_tensor.ndim = 2;
  foreign.managed.dl_tensor.shape = foreign.shape.data() + 1;
  foreign.managed.dl_tensor.strides = nullptr;
  const DeviceTensor tensor = DeviceTensor::from_dlpack(&foreign.managed);
  Context context(compile(Graph::from_yaml(kDouble), "null"));
  const DeviceTensor other("null", "f32", {3, 4});
  context.run_device(std::vector{tensor}, std::vector{other});
  EXPECT_ERROR(context.run_device(std::vector{other}, std::vector{tensor}),
               "output 'y': its memory may only be read");
  EXPECT_ERROR(context.bind_state("s", tensor), "state 's': its memory may only be read");
  EXPECT_ERROR(tensor.write(ones()), "may only be read");
  DLManagedTensorVersioned* again = tensor.to_dlpack();
  EXPECT_EQ(again->flags, dlpack::kReadOnly);
  again->deleter(again);
  EXPECT_ERROR(tensor.to_dlpack_0(), "version 0");
}

TEST(Dlpack, WhatDoesNotFitIsRefusedAndNotTaken) {
  const auto refuse = [](const auto& change, const char* words) {
    Foreign foreign;
    change(foreign);
    EXPECT_ERROR(DeviceTensor::from_dlpack(&foreign.managed), words);
    EXPECT_EQ(foreign.deleted, 0) << words;
  };
  refuse([](Foreign& f) { f.managed.version = {2, 0}; }, "version 2.0");
  refuse([](Foreign& f) { f.managed.dl_tensor.device = {dlpack::cuda, -1}; }, "number -1");
  refuse([](Foreign& f) { f.managed.dl_tensor.device = {7, 0}; }, "a device of kind 7");
  refuse([](Foreign& f) { f.managed.dl_tensor.ndim = -1; }, "a tensor of -1 dims");
  refuse([](Foreign& f) { f.managed.dl_tensor.ndim = 1 << 30; }, "at most 16");
  refuse([](Foreign& f) { f.managed.dl_tensor.shape = nullptr; }, "without a shape");
  refuse([](Foreign& f) { f.shape[1] = -3; }, "a negative dim");
  refuse([](Foreign& f) { f.shape = {1LL << 40, 1LL << 40, 4}; }, "too large");
  refuse([](Foreign& f) { f.strides = {12, 1, 3}; }, "dim 2 has stride 3, not 1");
  refuse([](Foreign& f) { f.strides = {0, 4, 1}; }, "dim 0 has stride 0, not 12");
  refuse([](Foreign& f) { f.managed.dl_tensor.dtype = {5, 64, 1}; }, "code 5");
  refuse([](Foreign& f) { f.managed.dl_tensor.dtype = {2, 32, 4}; }, "4 lanes");
  refuse([](Foreign& f) { f.managed.dl_tensor.dtype = {2, 8, 1}; }, "8 bits");
  refuse([](Foreign& f) { f.managed.dl_tensor.data = nullptr; }, "without data");
  refuse([](Foreign& f) { f.managed.dl_tensor.byte_offset = 2; }, "not aligned");
  refuse(
      [](Foreign& f) {
        f.managed.dl_tensor.byte_offset = std::numeric_limits<std::uint64_t>::max() - 7;
      },
      "leads out of memory");
  EXPECT_ERROR(DeviceTensor::from_dlpack(static_cast<DLManagedTensorVersioned*>(nullptr)), "null");
  EXPECT_ERROR(DeviceTensor().to_dlpack(), "a tensor of no device");
}

TEST(Dlpack, EveryTypeGoesThereAndBack) {
  for (const char* dtype : {"f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i8", "i16", "i32",
                            "i64", "u8", "u16", "u32", "u64", "bool"}) {
    HostTensor host(dtype, {2, 1, 3});
    for (std::size_t i = 0; i < host.bytes.size(); ++i) host.bytes[i] = std::byte(i & 1);
    DLManagedTensorVersioned* managed = nullptr;
    {
      const DeviceTensor tensor("null", host);
      managed = tensor.to_dlpack();
    }
    const DeviceTensor back = DeviceTensor::from_dlpack(managed);
    EXPECT_EQ(back.dtype(), dtype);
    EXPECT_EQ(back.shape(), host.shape);
    EXPECT_EQ(back.to_host().bytes, host.bytes);
    DLManagedTensor* old = back.to_dlpack_0();
    EXPECT_EQ(old->dl_tensor.ndim, 3);
    EXPECT_EQ(old->dl_tensor.strides[0], 3);
    old->deleter(old);
  }
  const std::string device = device_that_runs();
  if (device.starts_with("vulkan"))
    EXPECT_ERROR(DeviceTensor(device, "f32", {3}).to_dlpack(), "DLPack defines handles of CUDA's");
}

TEST(CTensors, AreCreatedRunAndExchanged) {
  const std::int64_t shape[] = {3, 4};
  tcc_buffer* memory = nullptr;
  tcc_tensor *x = nullptr, *y = nullptr;
  ASSERT_EQ(tcc_buffer_create("null", 128, &memory), TCC_OK);
  ASSERT_EQ(tcc_tensor_create_in(memory, 64, "f32", shape, 2, &x), TCC_OK) << tcc_last_error();
  ASSERT_EQ(tcc_tensor_create("null", "f32", shape, 2, &y), TCC_OK) << tcc_last_error();
  EXPECT_EQ(tcc_tensor_offset(x), 64);
  EXPECT_STREQ(tcc_tensor_device(x), "null");
  tcc_tensor_info info = TCC_TENSOR_INFO_INIT;
  ASSERT_EQ(tcc_tensor_describe(x, &info), TCC_OK);
  EXPECT_STREQ(info.shape_text, "[3, 4]");
  EXPECT_EQ(info.bytes, 48);
  std::vector<float> host(12, 5), back(12);
  ASSERT_EQ(tcc_tensor_write(x, host.data(), 48), TCC_OK);
  ASSERT_EQ(tcc_tensor_read(x, back.data(), 48), TCC_OK);
  EXPECT_EQ(back, host);
  EXPECT_EQ(tcc_tensor_read(x, back.data(), 44), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_tensor_create_in(memory, 96, "f32", shape, 2, &x), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_tensor_create("null", "f32", nullptr, 2, &x), TCC_BAD_INPUT);

  tcc_graph* graph = nullptr;
  tcc_compiled* compiled = nullptr;
  tcc_context* context = nullptr;
  ASSERT_EQ(tcc_graph_from_yaml(kDouble, nullptr, &graph), TCC_OK);
  ASSERT_EQ(tcc_compile(graph, "null", nullptr, &compiled), TCC_OK);
  ASSERT_EQ(tcc_context_create(compiled, &context), TCC_OK);
  EXPECT_EQ(tcc_context_run_tensors(context, &x, 1, &y, 1), TCC_OK) << tcc_last_error();
  EXPECT_EQ(tcc_context_run_tensors(context, &x, 1, &x, 1), TCC_BAD_INPUT);

  DLManagedTensorVersioned* managed = nullptr;
  ASSERT_EQ(tcc_tensor_to_dlpack(x, &managed), TCC_OK) << tcc_last_error();
  tcc_tensor_destroy(x);
  tcc_buffer_destroy(memory);
  ASSERT_EQ(tcc_tensor_from_dlpack(managed, &x), TCC_OK) << tcc_last_error();
  ASSERT_EQ(tcc_tensor_memory(x, &memory), TCC_OK);
  tcc_tensor_destroy(x);
  ASSERT_EQ(tcc_buffer_read(memory, back.data(), 48), TCC_OK) << tcc_last_error();
  EXPECT_EQ(back, host);
  EXPECT_EQ(tcc_tensor_from_dlpack(nullptr, &x), TCC_BAD_INPUT);
  tcc_buffer_destroy(memory);

  int released = 0;
  ASSERT_EQ(tcc_buffer_wrap(
                "null", reinterpret_cast<std::uint64_t>(host.data()), 48,
                [](void* user) { ++*static_cast<int*>(user); }, &released, &memory),
            TCC_OK);
  tcc_buffer_destroy(memory);
  EXPECT_EQ(released, 1);
  tcc_tensor_destroy(y);
  tcc_context_destroy(context);
  tcc_compiled_destroy(compiled);
  tcc_graph_destroy(graph);
}

}  // namespace
}  // namespace tcc
