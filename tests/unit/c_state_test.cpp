// The states of a context through the C ABI, and in files.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tcc/c_api.h"
#include "tcc/tcc.hpp"
#include "tests/expect_error.h"

namespace {

// s' = s + x, n' = n + 1, y = 2 s'.
constexpr const char* kSums =
    "tcc: 1\n"
    "inputs: {x: {dtype: f32, shape: [4, 3]}}\n"
    "states: {s: {dtype: f32, shape: [4, 3]}, n: {dtype: i32, shape: []}, e: {dtype: u8, shape: "
    "[0]}}\n"
    "nodes:\n"
    "  - {out: a, op: add, in: [s, x]}\n"
    "  - {out: t, op: assign, in: [s, a]}\n"
    "  - {out: m, op: add, in: [n, 1]}\n"
    "  - {out: o, op: assign, in: [n, m]}\n"
    "  - {out: y, op: mul, in: [t, 2.0]}\n"
    "outputs: [y]\n";

class CState : public ::testing::Test {
 protected:
  void SetUp() override {
    const tcc::DeviceList list = tcc::list_devices();
    if (list.devices.empty()) GTEST_SKIP() << "no device";
    device = list.devices.front().id;
    make(kSums, nullptr);
  }
  void TearDown() override {
    for (tcc_context* context : contexts) tcc_context_destroy(context);
    tcc_compiled_destroy(compiled);
    tcc_graph_destroy(graph);
    std::remove(file.c_str());
  }
  void make(const char* text, const tcc_graph_options* options) {
    ASSERT_EQ(tcc_graph_from_yaml_bytes(text, std::strlen(text), options, &graph), TCC_OK)
        << tcc_last_error();
    ASSERT_EQ(tcc_compile(graph, device.c_str(), nullptr, &compiled), TCC_OK) << tcc_last_error();
  }
  tcc_context* context() {
    tcc_context* made = nullptr;
    EXPECT_EQ(tcc_context_create(compiled, &made), TCC_OK) << tcc_last_error();
    contexts.push_back(made);
    return made;
  }
  float run(tcc_context* on) {
    const std::vector<float> x(12, 1.5f);
    std::vector<float> y(12);
    const void* in = x.data();
    void* out = y.data();
    EXPECT_EQ(tcc_context_run_host(on, &in, 1, &out, 1), TCC_OK) << tcc_last_error();
    return y[7];
  }
  static int count(tcc_context* on) {
    std::int32_t n = -1;
    EXPECT_EQ(tcc_context_read_state(on, "n", &n, sizeof n), TCC_OK) << tcc_last_error();
    return n;
  }

  std::string device;
  // Tests run beside each other, so each has a file of its own.
  std::string file = ::testing::TempDir() + "c_state_test." +
                     ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                     ".safetensors";
  tcc_graph* graph = nullptr;
  tcc_compiled* compiled = nullptr;
  std::vector<tcc_context*> contexts;
};

bool says(const char* words) { return std::strstr(tcc_last_error(), words) != nullptr; }

TEST_F(CState, AreListedReadWrittenAndReset) {
  EXPECT_EQ(tcc_graph_num_states(graph), 3u);
  ASSERT_EQ(tcc_compiled_num_states(compiled), 3u);
  tcc_tensor_info info = TCC_TENSOR_INFO_INIT;
  ASSERT_EQ(tcc_compiled_state(compiled, 0, &info), TCC_OK);
  EXPECT_STREQ(info.name, "s");
  EXPECT_STREQ(info.shape_text, "[4, 3]");
  EXPECT_EQ(info.bytes, 48);
  EXPECT_EQ(tcc_compiled_state(compiled, 3, &info), TCC_BAD_INPUT);
  ASSERT_EQ(tcc_graph_state(graph, 1, &info), TCC_OK);
  EXPECT_STREQ(info.dtype, "i32");

  tcc_context *a = context(), *b = context();
  run(a);
  EXPECT_EQ(run(a), 6);
  EXPECT_EQ(count(a), 2);
  EXPECT_EQ(count(b), 0) << "contexts of one program share no state";
  const std::vector<float> ten(12, 10);
  ASSERT_EQ(tcc_context_write_state(a, "s", ten.data(), 48), TCC_OK) << tcc_last_error();
  EXPECT_EQ(run(a), 23);
  ASSERT_EQ(tcc_context_reset_states(a), TCC_OK);
  EXPECT_EQ(count(a), 0);
  EXPECT_EQ(run(a), 3);
  EXPECT_EQ(tcc_context_read_state(a, "e", nullptr, 0), TCC_OK) << tcc_last_error();
  EXPECT_EQ(tcc_context_write_state(a, "e", nullptr, 0), TCC_OK) << tcc_last_error();

  std::vector<float> room(13);
  EXPECT_EQ(tcc_context_read_state(a, "s", room.data(), 52), TCC_BAD_INPUT);
  EXPECT_TRUE(says("room for 52 bytes of state 's', which has 48")) << tcc_last_error();
  EXPECT_EQ(tcc_context_write_state(a, "s", room.data(), 44), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_context_read_state(a, "z", room.data(), 4), TCC_BAD_INPUT);
  EXPECT_TRUE(says("the graph has no state 'z'")) << tcc_last_error();
  EXPECT_EQ(tcc_context_write_state(a, "z", room.data(), 4), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_context_read_state(a, "s", nullptr, 48), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_context_read_state(nullptr, "s", room.data(), 48), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_context_write_state(a, nullptr, room.data(), 48), TCC_BAD_INPUT);
}

TEST_F(CState, ABufferIsTheStateOfTwoContexts) {
  tcc_buffer *memory = nullptr, *part = nullptr, *odd = nullptr;
  ASSERT_EQ(tcc_buffer_create(device.c_str(), 256 + 48, &memory), TCC_OK);
  ASSERT_EQ(tcc_buffer_slice(memory, 256, 48, &part), TCC_OK);
  ASSERT_EQ(tcc_buffer_slice(memory, 4, 48, &odd), TCC_OK);
  const std::vector<float> ones(12, 1);
  ASSERT_EQ(tcc_buffer_write(part, ones.data(), 48), TCC_OK);
  tcc_context *a = context(), *b = context();
  ASSERT_EQ(tcc_context_bind_state(a, "s", part), TCC_OK) << tcc_last_error();
  ASSERT_EQ(tcc_context_bind_state(b, "s", part), TCC_OK) << tcc_last_error();
  EXPECT_EQ(run(a), 5);
  EXPECT_EQ(run(b), 8);
  EXPECT_EQ(run(a), 11);
  EXPECT_EQ(tcc_context_bind_state(a, "s", memory), TCC_BAD_INPUT);
  EXPECT_TRUE(says("state 's': a device buffer of 304 bytes")) << tcc_last_error();
  EXPECT_EQ(tcc_context_bind_state(a, "q", part), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_context_bind_state(a, "s", nullptr), TCC_BAD_INPUT);
  tcc_tensor_info info = TCC_TENSOR_INFO_INIT;
  ASSERT_EQ(tcc_compiled_state(compiled, 0, &info), TCC_OK);
  if (info.alignment > 4) {
    EXPECT_EQ(tcc_context_bind_state(a, "s", odd), TCC_BAD_INPUT);
    EXPECT_TRUE(says("is no multiple of")) << tcc_last_error();
  }
  tcc_buffer_destroy(odd);
  tcc_buffer_destroy(part);
  tcc_buffer_destroy(memory);
  EXPECT_EQ(run(b), 14) << "contexts keep the memory";
}

TEST_F(CState, ABufferIsAStateThatGrows) {
  const char* text =
      "tcc: 1\n"
      "dims: {P: 1}\n"
      "inputs: {x: {dtype: f32, shape: [1]}}\n"
      "states: {s: {dtype: f32, shape: [P + 1]}}\n"
      "nodes:\n"
      "  - {out: a, op: append, in: [s, x], dim: 0, length: P}\n"
      "  - {out: now, op: slice, in: [a], dim: 0, start: 0, end: P + 1}\n"
      "  - {out: y, op: sum, in: [now], dim: [0]}\n"
      "outputs: [y]\n";
  tcc_graph* grows = nullptr;
  tcc_compiled* program = nullptr;
  tcc_context* own = nullptr;
  tcc_buffer* memory = nullptr;
  ASSERT_EQ(tcc_graph_from_yaml_bytes(text, std::strlen(text), nullptr, &grows), TCC_OK);
  tcc_compile_options options = TCC_COMPILE_OPTIONS_INIT;
  const char* open[] = {"P=0..7"};
  options.open_dims = open;
  options.num_open_dims = 1;
  ASSERT_EQ(tcc_compile(grows, device.c_str(), &options, &program), TCC_OK) << tcc_last_error();
  ASSERT_EQ(tcc_context_create(program, &own), TCC_OK);
  const std::vector<float> rows = {1, 2, 3, -9, -9, -9, -9, -9};
  ASSERT_EQ(tcc_buffer_create(device.c_str(), 32, &memory), TCC_OK);
  ASSERT_EQ(tcc_buffer_write(memory, rows.data(), 32), TCC_OK);
  EXPECT_EQ(tcc_context_bind_state(own, "s", memory), TCC_BAD_INPUT);
  EXPECT_TRUE(says("grows: how much of its memory counts")) << tcc_last_error();
  EXPECT_EQ(tcc_context_bind_growing_state(own, "s", memory, 9), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_context_bind_growing_state(own, "s", nullptr, 3), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_context_bind_growing_state(context(), "s", memory, 3), TCC_BAD_INPUT);
  ASSERT_EQ(tcc_context_bind_growing_state(own, "s", memory, 3), TCC_OK) << tcc_last_error();
  std::vector<float> value(4);
  ASSERT_EQ(tcc_context_read_state(own, "s", value.data(), 12), TCC_OK) << tcc_last_error();
  EXPECT_EQ(value, (std::vector<float>{1, 2, 3, 0}));
  const float x = 4;
  float y = 0;
  const void* in = &x;
  void* out = &y;
  ASSERT_EQ(tcc_context_run_host(own, &in, 1, &out, 1), TCC_OK) << tcc_last_error();
  EXPECT_EQ(y, 10);
  ASSERT_EQ(tcc_context_read_state(own, "s", value.data(), 16), TCC_OK) << tcc_last_error();
  EXPECT_EQ(value, (std::vector<float>{1, 2, 3, 4}));
  tcc_tensor_info info = TCC_TENSOR_INFO_INIT;
  ASSERT_EQ(tcc_context_state(own, 0, &info), TCC_OK) << tcc_last_error();
  EXPECT_STREQ(info.name, "s");
  EXPECT_STREQ(info.shape_text, "[4]");
  EXPECT_EQ(info.bytes, 16);
  ASSERT_EQ(tcc_context_reset_states(own), TCC_OK);
  ASSERT_EQ(tcc_context_state(own, 0, &info), TCC_OK);
  EXPECT_EQ(info.shape[0], 0);
  EXPECT_EQ(tcc_context_state(own, 1, &info), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_context_state(nullptr, 0, &info), TCC_BAD_INPUT);
  tcc_buffer_destroy(memory);
  tcc_context_destroy(own);
  tcc_compiled_destroy(program);
  tcc_graph_destroy(grows);
}

TEST_F(CState, AreSavedAndLoaded) {
  tcc_context *a = context(), *b = context();
  run(a);
  run(a);
  ASSERT_EQ(tcc_context_save_states(a, file.c_str()), TCC_OK) << tcc_last_error();
  EXPECT_EQ(run(a), 9);
  ASSERT_EQ(tcc_context_load_states(b, file.c_str()), TCC_OK) << tcc_last_error();
  EXPECT_EQ(count(b), 2);
  EXPECT_EQ(run(b), 9);

  // Every part of the file that is missing is noticed, and no state changes.
  std::ifstream in(file, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  const auto write = [&](const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
  };
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    ASSERT_EQ(tcc_context_load_states(b, file.c_str()), TCC_BAD_INPUT) << size;
    ASSERT_TRUE(says(file.c_str())) << tcc_last_error();
  }
  // Any changed byte is refused or is a changed number.
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string other = whole;
    other[at] = static_cast<char>(other[at] ^ 0x11);
    write(other);
    const tcc_status status = tcc_context_load_states(b, file.c_str());
    ASSERT_TRUE(status == TCC_OK || status == TCC_BAD_INPUT) << at << ": " << tcc_last_error();
  }
  write(whole);
  ASSERT_EQ(tcc_context_load_states(b, file.c_str()), TCC_OK) << tcc_last_error();
  EXPECT_EQ(run(b), 9);
  write(whole + "x");
  EXPECT_EQ(tcc_context_load_states(b, file.c_str()), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_context_load_states(b, "/nowhere/states.safetensors"), TCC_BAD_INPUT);
  EXPECT_NE(tcc_context_save_states(b, "/nowhere/states.safetensors"), TCC_OK);
  EXPECT_EQ(count(b), 3);
}

TEST_F(CState, FilesOfOtherStatesAreRefused) {
  const auto save = [&](const std::string& states) {
    const std::string text = "tcc: 1\ninputs: {}\nstates: {" + states +
                             "}\nweights: {w: {dtype: f32, shape: [2], init: ones}}\n"
                             "nodes: [{out: y, op: neg, in: [w]}]\noutputs: [y]\n";
    tcc::Context other(tcc::compile(tcc::Graph::from_yaml(text), device));
    other.save_states(file);
  };
  tcc::Context mine(tcc::compile(tcc::Graph::from_yaml(kSums), device));
  const std::string s = "s: {dtype: f32, shape: [4, 3], init: ones}, e: {dtype: u8, shape: [0]}";
  save(s + ", n: {dtype: i64, shape: []}");
  EXPECT_ERROR(mine.load_states(file), "state 'n' is i32[], in the file i64[]");
  save(s + ", n: {dtype: i32, shape: [1]}");
  EXPECT_ERROR(mine.load_states(file), "state 'n' is i32[], in the file i32[1]");
  save(s);
  EXPECT_ERROR(mine.load_states(file), "'n'");
  save(s + ", n: {dtype: i32, shape: []}, more: {dtype: i32, shape: []}");
  EXPECT_ERROR(mine.load_states(file), "'more' is no state of the graph");
  EXPECT_EQ(mine.state("s").as<float>()[0], 0) << "nothing was loaded";
  save(s + ", n: {dtype: i32, shape: []}");
  mine.load_states(file);
  EXPECT_EQ(mine.state("s").as<float>()[0], 1);
}

TEST_F(CState, ArePairsOfInputsAndOutputs) {
  for (tcc_context* context : contexts) tcc_context_destroy(context);
  contexts.clear();
  tcc_compiled_destroy(compiled);
  tcc_graph_destroy(graph);
  compiled = nullptr, graph = nullptr;
  const char* text =
      "tcc: 1\n"
      "inputs: {past: {dtype: f32, shape: [4, 3]}, x: {dtype: f32, shape: [4, 3]}}\n"
      "nodes: [{out: present, op: add, in: [past, x]}, {out: y, op: mul, in: [present, 2.0]}]\n"
      "outputs: [present, y]\n";
  const char *from = "past", *to = "present";
  tcc_graph_options options = TCC_GRAPH_OPTIONS_INIT;
  options.num_states = 1;
  options.state_inputs = &from;
  options.state_outputs = &to;
  make(text, &options);
  tcc_context* a = context();
  run(a);
  EXPECT_EQ(run(a), 6);

  std::ofstream(file + ".yaml") << text;
  tcc_graph* loaded = nullptr;
  ASSERT_EQ(tcc_graph_load_with((file + ".yaml").c_str(), &options, &loaded), TCC_OK)
      << tcc_last_error();
  EXPECT_EQ(tcc_graph_num_states(loaded), 1u);
  EXPECT_EQ(tcc_graph_num_inputs(loaded), 1u);
  tcc_graph_destroy(loaded);
  options.folder = ".";
  EXPECT_EQ(tcc_graph_load_with((file + ".yaml").c_str(), &options, &loaded), TCC_BAD_INPUT);
  std::remove((file + ".yaml").c_str());
}

// Weights are the program's, states the contexts'.
TEST_F(CState, ContextsShareWeightsAndNoState) {
  constexpr std::int64_t kBytes = std::int64_t{1} << 20;
  const std::string text =
      "tcc: 1\n"
      "inputs: {x: {dtype: f32, shape: [512]}}\n"
      "states: {s: {dtype: f32, shape: [512]}}\n"
      "weights: {w: {dtype: f32, shape: [512, 512], init: {normal: 0.02}}}\n"
      "nodes:\n"
      "  - {out: h, op: linear, in: [s, w]}\n"
      "  - {out: a, op: add, in: [h, x]}\n"
      "  - {out: y, op: assign, in: [s, a]}\n"
      "outputs: [y]\n";
  const tcc::CompiledGraph program = tcc::compile(tcc::Graph::from_yaml(text), device);
  EXPECT_EQ(program.constant_bytes(), kBytes);
  tcc::Context first(program), second(program);
  const tcc::HostTensor x = tcc::HostTensor::of<float>({512}, std::vector<float>(512, 1));
  const tcc::HostTensor one = first.run({{x}}).at(0);
  first.run({{x}});
  EXPECT_EQ(second.run({{x}}).at(0).bytes, one.bytes) << "the first context's runs left no trace";
  EXPECT_NE(first.state("s").bytes, second.state("s").bytes);
  first.set_state("s", second.state("s"));
  EXPECT_EQ(first.run({{x}}).at(0).bytes, second.run({{x}}).at(0).bytes) << "the same weights";
}

}  // namespace
