// Graphs and weights from memory, inputs and outputs by name, the list of devices: C++ and C.
#include "tcc/c_api.h"

#include <fstream>

#include <gtest/gtest.h>

#include "backends/compile/process.h"
#include "frontend/npz.h"
#include "tcc/tcc.hpp"
#include "tests/unit/onnx_fixture.h"

namespace {

using namespace tcc;  // NOLINT: as a user would
using tcc::testing::OnnxModel;
using Bytes = std::span<const std::byte>;

Bytes bytes_of(const auto& container) { return std::as_bytes(std::span(container)); }

bool is_refused(const std::function<void()>& call, const std::string& words) {
  try {
    call();
    ADD_FAILURE() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
    if (std::string(error.what()).find(words) != std::string::npos) return true;
    ADD_FAILURE() << error.what();
  }
  return false;
}

// y = x * w, z = x - w, whose w lies in the file "w.bin".
std::string model() {
  OnnxModel onnx;
  onnx.input("x", {{2}});
  auto& w = *onnx.graph().add_initializer();
  w.set_name("w");
  w.set_data_type(::onnx::TensorProto::FLOAT);
  w.add_dims(2);
  w.set_data_location(::onnx::TensorProto::EXTERNAL);
  auto& entry = *w.add_external_data();
  entry.set_key("location");
  entry.set_value("w.bin");
  tcc::testing::add_node(onnx.graph(), "Mul", {"x", "w"}, {"y"});
  tcc::testing::add_node(onnx.graph(), "Sub", {"x", "w"}, {"z"});
  for (const char* name : {"y", "z"})
    tcc::testing::set_type(*onnx.graph().add_output(), name, ::onnx::TensorProto::FLOAT, {{2}});
  return onnx.proto.SerializeAsString();
}

constexpr float kWeights[] = {3, -2};

TEST(MemoryGraphs, OnnxWithItsWeights) {
  std::string onnx = model();
  const Graph graph = Graph::from_onnx(bytes_of(onnx), {.files = {{"w.bin", bytes_of(kWeights)}}});
  onnx.assign(onnx.size(), 'x');  // not needed any more
  const std::vector given{HostTensor::of<float>({2}, {10, 20})};
  const auto outputs = run_reference(graph, given);
  EXPECT_EQ(outputs.at(0).as<float>()[0], 30);
  EXPECT_EQ(outputs.at(1).as<float>()[1], 22);
  EXPECT_EQ(compile(graph, "null").inputs().at(0).name, "x");
}

// External data that the caller reads piece by piece: exactly what a tensor needs, where it is
// used.
TEST(MemoryGraphs, OnnxAsksForItsWeights) {
  std::vector<std::tuple<std::string, uint64_t, size_t>> asked;
  const auto read = [&](std::string_view name, uint64_t offset, std::span<std::byte> to) {
    asked.emplace_back(name, offset, to.size());
    if (name != "w.bin" || offset + to.size() > sizeof kWeights) return false;
    std::copy_n(bytes_of(kWeights).begin() + static_cast<std::ptrdiff_t>(offset), to.size(),
                to.begin());
    return true;
  };
  const Graph graph = Graph::from_onnx(bytes_of(model()), {.read = read});
  const auto outputs = run_reference(graph, std::vector{HostTensor::of<float>({2}, {10, 20})});
  EXPECT_EQ(outputs.at(1).as<float>()[1], 22);
  ASSERT_FALSE(asked.empty());
  EXPECT_EQ(asked[0], std::make_tuple(std::string("w.bin"), uint64_t{0}, sizeof kWeights));
  asked.clear();
  Graph::from_onnx(bytes_of(model()), {.files = {{"w.bin", bytes_of(kWeights)}}, .read = read});
  EXPECT_TRUE(asked.empty());
  EXPECT_TRUE(is_refused(
      [&] {
        const auto refuse = [](auto...) { return false; };
        compile(Graph::from_onnx(bytes_of(model()), {.read = refuse}), "null");
      },
      "initialiser 'w': external data: the caller has no 8 bytes of 'w.bin' from offset 0"));
}

TEST(CMemoryGraphs, OnnxAsksForItsWeights) {
  const std::string onnx = model();
  tcc_graph_options options = TCC_GRAPH_OPTIONS_INIT;
  int calls = 0;
  options.user = &calls;
  options.read = [](void* user, const char* name, uint64_t offset, void* to,
                    size_t length) -> int32_t {
    ++*static_cast<int*>(user);
    if (std::string(name) != "w.bin" || offset != 0 || length != sizeof kWeights) return 0;
    std::memcpy(to, kWeights, length);
    return 1;
  };
  tcc_graph* graph = nullptr;
  ASSERT_EQ(tcc_graph_from_onnx(onnx.data(), onnx.size(), &options, &graph), TCC_OK)
      << tcc_last_error();
  tcc_compiled* compiled = nullptr;
  ASSERT_EQ(tcc_compile(graph, "null", nullptr, &compiled), TCC_OK) << tcc_last_error();
  EXPECT_GE(calls, 1);
  tcc_compiled_destroy(compiled);
  tcc_graph_destroy(graph);
}

// y has the shape that the input `shape` says, and z is x's double.
std::string reshaping_model() {
  OnnxModel onnx;
  onnx.input("x", {{"n"}}).input("shape", {{2}}, ::onnx::TensorProto::INT64);
  onnx.node("Reshape", {"x", "shape"}, {"y"}).node("Add", {"x", "x"}, {"z"});
  return onnx.output("y").output("z").bytes();
}

TEST(MemoryGraphs, InputsDecideShapes) {
  const std::string onnx = reshaping_model();
  const auto shape = HostTensor::of<std::int64_t>({2}, {3, 2});
  const auto check = [](const Graph& graph) {
    ASSERT_EQ(graph.inputs().size(), 1u);
    EXPECT_EQ(graph.inputs()[0].name, "x");
    EXPECT_EQ(graph.outputs()[0].shape, (std::vector<std::string>{"3", "2"}));
    const std::vector given{HostTensor::of<float>({6}, {1, 2, 3, 4, 5, 6})};
    const auto outputs = run_reference(graph, given);
    EXPECT_EQ(outputs.at(0).as<float>()[5], 6);
    EXPECT_EQ(outputs.at(1).as<float>()[5], 12);
  };
  check(Graph::from_onnx(bytes_of(onnx), {.dims = {{"n", 6}}, .inputs = {{"shape", shape}}}));
  // The shape of a tensor says what the dims are.
  const HostTensor x("f32", {6});
  check(Graph::from_onnx(bytes_of(onnx), {.inputs = {{"shape", shape}, {"x", x}}}));
  const backends::TemporaryFolder folder;
  std::ofstream(folder.path() / "m.onnx", std::ios::binary) << onnx;
  check(Graph::load(folder.path() / "m.onnx", {{"n", 6}}, {}, {{"shape", shape}}));

  EXPECT_TRUE(is_refused([&] { Graph::from_onnx(bytes_of(onnx)); },
                         "it depends on the data of input 'shape' (inputs gives it); it can be "
                         "read with: dims n=1; inputs 'shape'"));
  EXPECT_TRUE(is_refused(
      [&] {
        Graph::from_onnx(bytes_of(onnx), {.inputs = {{"shape", shape}, {"shap", shape}}});
      },
      "the graph has no input 'shap'"));
  EXPECT_TRUE(is_refused(
      [&] {
        Graph::from_onnx(bytes_of(onnx), {.inputs = {{"shape", HostTensor("i64", {3})}}});
      },
      "input 'shape' is i64[2], but the data given is i64[3]"));
}

TEST(CMemoryGraphs, InputsDecideShapes) {
  const std::string onnx = reshaping_model();
  const char* names[] = {"shape", "x"};
  const char* dtypes[] = {"i64", "f32"};
  const int64_t two[] = {2}, six[] = {6};
  const int64_t* shapes[] = {two, six};
  const size_t ranks[] = {1, 1};
  const int64_t shape[] = {3, 2};
  const float x[6] = {};
  const void* data[] = {shape, nullptr};
  tcc_graph_options options = TCC_GRAPH_OPTIONS_INIT;
  options.num_inputs = 2;
  options.input_names = names;
  options.input_dtypes = dtypes;
  options.input_shapes = shapes;
  options.input_ranks = ranks;
  options.input_data = data;
  tcc_graph* graph = nullptr;
  EXPECT_EQ(tcc_graph_from_onnx(onnx.data(), onnx.size(), &options, &graph), TCC_BAD_INPUT);
  EXPECT_STREQ(tcc_last_error(), "the data of 'x' in input_data is NULL");
  data[1] = x;
  ASSERT_EQ(tcc_graph_from_onnx(onnx.data(), onnx.size(), &options, &graph), TCC_OK)
      << tcc_last_error();
  EXPECT_EQ(tcc_graph_num_inputs(graph), 1u);
  tcc_tensor_info info = TCC_TENSOR_INFO_INIT;
  ASSERT_EQ(tcc_graph_output(graph, 0, &info), TCC_OK);
  EXPECT_STREQ(info.shape_text, "[3, 2]");
  tcc_graph_destroy(graph);
  // A caller that was compiled before there were inputs.
  options.size = offsetof(tcc_graph_options, num_inputs);
  EXPECT_EQ(tcc_graph_from_onnx(onnx.data(), onnx.size(), &options, &graph), TCC_BAD_INPUT);
}

TEST(MemoryGraphs, NoFileIsOpenedWithoutAFolder) {
  const backends::TemporaryFolder folder;
  std::ofstream(folder.path() / "w.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(kWeights), sizeof kWeights);
  const std::string onnx = model();
  std::filesystem::current_path(folder.path());
  EXPECT_TRUE(is_refused([&] { Graph::from_onnx(bytes_of(onnx)); },
                         "<onnx>: initialiser 'w': external data: the graph comes from memory "
                         "without a folder, and the bytes of its file 'w.bin' are not given"));
  EXPECT_TRUE(is_refused(
      [&] {
        Graph::from_onnx(bytes_of(onnx), {.files = {{"v.bin", {}}}});
      },
      "'w.bin' are not given"));
  const std::string yaml =
      "tcc: 1\ninputs: {x: {dtype: f32, shape: [2]}}\nweights:\n  w: {file: w.npz, key: k}\n"
      "nodes: [{out: y, op: mul, in: [x, w]}]\noutputs: [y]\n";
  EXPECT_TRUE(is_refused([&] { Graph::from_yaml(yaml, MemoryOptions{}); },
                         "<yaml>:4: key 'file': the graph comes from memory"));
  std::filesystem::current_path("/");
  const auto outputs = run_reference(Graph::from_onnx(bytes_of(onnx), {.folder = folder.path()}),
                                     std::vector{HostTensor::of<float>({2}, {10, 20})});
  EXPECT_EQ(outputs.at(0).as<float>()[1], -40);
}

TEST(MemoryGraphs, WhatIsGivenIsChecked) {
  const std::string onnx = model();
  EXPECT_TRUE(is_refused(
      [&] {
        Graph::from_onnx(bytes_of(onnx), {.files = {{"w.bin", bytes_of(kWeights).first(7)}}});
      },
      "w.bin has 7 bytes; 8 from offset 0 are needed"));
  EXPECT_TRUE(is_refused([] { Graph::from_onnx({}); }, "<onnx>: "));
  for (size_t size = 1; size < onnx.size(); size += 7) {
    const std::string part = onnx.substr(0, size);
    try {
      Graph::from_onnx(bytes_of(part), {.files = {{"w.bin", bytes_of(kWeights)}}});
    } catch (const Error& error) { EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what(); }
  }
}

TEST(MemoryGraphs, YamlWithItsWeights) {
  const backends::TemporaryFolder folder;
  Tensor weights(DType::f32, {2});
  std::copy(std::begin(kWeights), std::end(kWeights), weights.as<float>().begin());
  const std::pair<std::string, const Tensor*> tensors[] = {{"k", &weights}};
  write_npz(folder.path() / "w.npz", tensors);
  std::ifstream file(folder.path() / "w.npz", std::ios::binary);
  const std::string npz(std::istreambuf_iterator<char>(file), {});
  std::filesystem::remove(folder.path() / "w.npz");
  const std::string yaml =
      "tcc: 1\ninputs: {x: {dtype: f32, shape: [2]}}\nweights:\n  w: {file: w.npz, key: k}\n"
      "nodes: [{out: y, op: mul, in: [x, w]}]\noutputs: [y]\n";
  const Graph graph = Graph::from_yaml(yaml, {.files = {{"w.npz", bytes_of(npz)}}});
  const auto outputs = run_reference(graph, std::vector{HostTensor::of<float>({2}, {10, 20})});
  EXPECT_EQ(outputs.at(0).as<float>()[1], -40);
  const std::string damaged = npz.substr(0, npz.size() - 9);
  EXPECT_TRUE(is_refused(
      [&] {
        Graph::from_yaml(yaml, {.files = {{"w.npz", bytes_of(damaged)}}});
      },
      "w.npz: "));
}

constexpr const char* kTwo = R"(
tcc: 1
name: two
inputs:
  a: {dtype: f32, shape: [2]}
  b: {dtype: f32, shape: [3]}
nodes:
  - {out: y, op: mul, in: [a, 2.0]}
  - {out: z, op: add, in: [b, 1.0]}
outputs: [z, y]
)";

TEST(ByName, RunsInAnyOrder) {
  const CompiledGraph compiled = compile(Graph::from_yaml(kTwo), "null");
  EXPECT_EQ(compiled.input_index("b"), 1u);
  EXPECT_EQ(compiled.output_index("z"), 0u);
  EXPECT_TRUE(is_refused([&] { compiled.input_index("y"); }, "the graph has no input 'y'"));
  Context context(compiled);
  const HostTensor a("f32", {2}), b("f32", {3});
  const auto outputs = context.run_named({{"b", b}, {"a", a}});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs.at("y").shape, a.shape);
  EXPECT_EQ(outputs.at("z").shape, b.shape);
  EXPECT_TRUE(is_refused([&] { context.run_named({{"a", a}}); }, "input 'b' is not given"));
  EXPECT_TRUE(is_refused(
      [&] {
        context.run_named({{"a", a}, {"b", b}, {"c", b}});
      },
      "the graph has no input 'c'"));
  EXPECT_TRUE(is_refused([&] { context.run_named({{"a", b}, {"b", a}}); }, "input 'a' is f32[2]"));
  alignas(16) float x[2] = {}, u[3] = {}, y[2], z[3];
  context.run_device_named({{"b", u}, {"a", x}}, {{"y", y}, {"z", z}});
  EXPECT_TRUE(is_refused(
      [&] {
        context.run_device_named({{"b", u}, {"a", x}}, {{"y", y}});
      },
      "output 'z' is not given"));
}

TEST(ByName, ComputesTheRight) {
  const DeviceList list = list_devices();
  if (list.devices.empty()) GTEST_SKIP() << "no device";
  Context context(compile(Graph::from_yaml(kTwo), list.devices[0].id));
  const auto outputs = context.run_named(
      {{"b", HostTensor::of<float>({3}, {1, 2, 3})}, {"a", HostTensor::of<float>({2}, {5, 7})}});
  EXPECT_EQ(outputs.at("y").as<float>()[1], 14);
  EXPECT_EQ(outputs.at("z").as<float>()[2], 4);
}

TEST(Devices, AreListed) {
  const DeviceList list = list_devices();
  EXPECT_FALSE(list.devices.empty() && list.missing.empty());
  for (const DeviceInfo& device : list.devices) {
    EXPECT_EQ(device.id, device.kind + ":" + std::to_string(device.index));
    EXPECT_FALSE(device.name.empty());
    EXPECT_FALSE(device.driver.empty());
    EXPECT_TRUE(device.target.starts_with(device.kind + ":")) << device.target;
    EXPECT_GT(device.memory_bytes, 1 << 20);
    EXPECT_GT(device.max_buffer_bytes, 1 << 20);
    EXPECT_EQ(compile(Graph::from_yaml(kTwo), device.id).device(), device.id);
  }
}

TEST(CMemoryGraphs, OnnxByName) {
  const std::string onnx = model();
  const char* names[] = {"w.bin"};
  const void* data[] = {kWeights};
  const size_t sizes[] = {sizeof kWeights};
  tcc_graph_options options = TCC_GRAPH_OPTIONS_INIT;
  options.num_files = 1;
  options.file_names = names;
  options.file_data = data;
  options.file_sizes = sizes;
  tcc_graph* graph = nullptr;
  EXPECT_EQ(tcc_graph_from_onnx(onnx.data(), onnx.size(), nullptr, &graph), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_graph_from_onnx(nullptr, 4, nullptr, &graph), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_graph_from_onnx(nullptr, 0, nullptr, &graph), TCC_BAD_INPUT);
  data[0] = nullptr;
  EXPECT_EQ(tcc_graph_from_onnx(onnx.data(), onnx.size(), &options, &graph), TCC_BAD_INPUT);
  EXPECT_STREQ(tcc_last_error(), "the data of 'w.bin' in file_data is NULL");
  data[0] = kWeights;
  ASSERT_EQ(tcc_graph_from_onnx(onnx.data(), onnx.size(), &options, &graph), TCC_OK)
      << tcc_last_error();
  tcc_compiled* compiled = nullptr;
  ASSERT_EQ(tcc_compile(graph, "null", nullptr, &compiled), TCC_OK) << tcc_last_error();
  size_t index = 7;
  EXPECT_EQ(tcc_compiled_output_index(compiled, "z", &index), TCC_OK);
  EXPECT_EQ(index, 1u);
  EXPECT_EQ(tcc_compiled_input_index(compiled, "z", &index), TCC_BAD_INPUT);
  EXPECT_EQ(index, 1u);
  tcc_context* context = nullptr;
  ASSERT_EQ(tcc_context_create(compiled, &context), TCC_OK);
  alignas(16) float x[2] = {}, y[2], z[2];
  const char* in[] = {"x"};
  const char* out[] = {"z", "y"};
  const void* inputs[] = {x};
  void* outputs[] = {z, y};
  EXPECT_EQ(tcc_context_run_named(context, in, inputs, 1, out, outputs, 2), TCC_OK)
      << tcc_last_error();
  EXPECT_EQ(tcc_context_run_host_named(context, in, inputs, 1, out, outputs, 2), TCC_OK)
      << tcc_last_error();
  EXPECT_EQ(tcc_context_run_host_named(context, in, inputs, 1, out, outputs, 1), TCC_BAD_INPUT);
  EXPECT_STREQ(tcc_last_error(), "the graph has 2 outputs, not 1");
  out[1] = "z";
  EXPECT_EQ(tcc_context_run_host_named(context, in, inputs, 1, out, outputs, 2), TCC_BAD_INPUT);
  EXPECT_STREQ(tcc_last_error(), "output 'z' is given twice");
  EXPECT_EQ(tcc_context_run_named(context, nullptr, inputs, 1, out, outputs, 2), TCC_BAD_INPUT);
  tcc_context_destroy(context);
  tcc_compiled_destroy(compiled);
  tcc_graph_destroy(graph);

  ASSERT_EQ(tcc_graph_from_yaml_bytes(kTwo, std::char_traits<char>::length(kTwo), nullptr, &graph),
            TCC_OK);
  EXPECT_EQ(tcc_graph_num_inputs(graph), 2u);
  tcc_graph_destroy(graph);
}

TEST(CDevices, AreListed) {
  tcc_device_list* list = nullptr;
  ASSERT_EQ(tcc_device_list_create(&list), TCC_OK) << tcc_last_error();
  const DeviceList expected = list_devices();
  ASSERT_EQ(tcc_device_list_size(list), expected.devices.size());
  tcc_device_info info = TCC_DEVICE_INFO_INIT;
  for (size_t i = 0; i < expected.devices.size(); ++i) {
    ASSERT_EQ(tcc_device_list_get(list, i, &info), TCC_OK);
    EXPECT_EQ(info.id, expected.devices[i].id);
    EXPECT_EQ(info.driver, expected.devices[i].driver);
    EXPECT_EQ(info.memory_bytes, expected.devices[i].memory_bytes);
    EXPECT_EQ(info.is_cpu, expected.devices[i].is_cpu);
  }
  EXPECT_EQ(tcc_device_list_get(list, 99, &info), TCC_BAD_INPUT);
  EXPECT_EQ(*tcc_device_list_missing(list) == '\0', expected.missing.empty());
  tcc_device_list_destroy(list);
}

// Told, cancelled, logged.
struct Seen {
  int progress = 0, logged = 0, trials = 0;
  bool cancel = false;
};

TEST(CCallbacks, ProgressCancellationLog) {
  Seen seen;
  EXPECT_EQ(tcc_set_log(
                [](void* user, tcc_log_level level, const char* channel, const char* text) {
                  static_cast<Seen*>(user)->logged +=
                      level == TCC_LOG_INFO && *channel != '\0' && *text != '\0';
                },
                &seen, TCC_LOG_INFO),
            TCC_OK);
  EXPECT_EQ(tcc_set_log(nullptr, nullptr, 9), TCC_BAD_INPUT);
  tcc_graph* graph = nullptr;
  ASSERT_EQ(tcc_graph_from_yaml(kTwo, nullptr, &graph), TCC_OK);
  tcc_compile_options options = TCC_COMPILE_OPTIONS_INIT;
  options.user = &seen;
  options.progress = [](void* user, const char* stage, size_t done, size_t total) {
    static_cast<Seen*>(user)->progress += *stage != '\0' && done <= total;
  };
  options.cancelled = [](void* user) -> int32_t { return static_cast<Seen*>(user)->cancel; };
  tcc_compiled* compiled = nullptr;
  ASSERT_EQ(tcc_compile(graph, "null", &options, &compiled), TCC_OK) << tcc_last_error();
  tcc_compiled_destroy(compiled);
  EXPECT_GT(seen.progress, 3);
  EXPECT_GT(seen.logged, 0);
  EXPECT_EQ(tcc_set_log(nullptr, nullptr, TCC_LOG_INFO), TCC_OK);
  seen.cancel = true;
  EXPECT_EQ(tcc_compile(graph, "null", &options, &compiled), TCC_CANCELLED);
  EXPECT_STREQ(tcc_last_error(), "cancelled by the caller");
  tcc_graph_destroy(graph);
}

TEST(CTune, TellsOfEveryKernel) {
  Seen seen;
  tcc_graph* graph = nullptr;
  ASSERT_EQ(tcc_graph_from_yaml(kTwo, nullptr, &graph), TCC_OK);
  tcc_tune_options options = TCC_TUNE_OPTIONS_INIT;
  options.trials = 3;
  options.in_process = 1;
  options.user = &seen;
  options.progress = [](void* user, const tcc_tuned_kernel* kernel) {
    static_cast<Seen*>(user)->trials += kernel->size == sizeof *kernel;
  };
  tcc_tune_report* report = nullptr;
  ASSERT_EQ(tcc_tune(graph, "null", &options, &report), TCC_OK) << tcc_last_error();
  ASSERT_GT(tcc_tune_report_size(report), 0u);
  EXPECT_EQ(tcc_tune_report_was_cancelled(report), 0);
  int64_t trials = 0;
  for (size_t i = 0; i < tcc_tune_report_size(report); ++i) {
    tcc_tuned_kernel kernel = TCC_TUNED_KERNEL_INIT;
    ASSERT_EQ(tcc_tune_report_get(report, i, &kernel), TCC_OK);
    EXPECT_STREQ(kernel.error, "");
    EXPECT_STREQ(kernel.kernel_template, "pointwise");
    trials += kernel.trials;
  }
  EXPECT_EQ(seen.trials, trials);
  tcc_tune_report_destroy(report);
  options.search = "magic";
  EXPECT_EQ(tcc_tune(graph, "null", &options, &report), TCC_BAD_INPUT);
  options.search = nullptr;
  options.trials = 1000000;
  tcc_compile_options compile = TCC_COMPILE_OPTIONS_INIT;
  compile.cancelled = [](void*) -> int32_t { return 1; };
  options.compile = &compile;
  ASSERT_EQ(tcc_tune(graph, "null", &options, &report), TCC_OK) << tcc_last_error();
  EXPECT_EQ(tcc_tune_report_was_cancelled(report), 1);
  tcc_tune_report_destroy(report);
  tcc_graph_destroy(graph);
}

}  // namespace
