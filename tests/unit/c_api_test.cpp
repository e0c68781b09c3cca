// The C ABI.
#include "tcc/c_api.h"

#include <cstring>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tcc/tcc.hpp"
#include "tests/unit/public_api_fixture.h"

namespace {

using tcc::testing::mlp;
using tcc::testing::numbers;

// The handles of one graph on one device.
struct Compiled {
  explicit Compiled(const char* device, std::int64_t batch = 2) {
    EXPECT_EQ(tcc_graph_load(mlp().c_str(), &graph), TCC_OK) << tcc_last_error();
    tcc_compile_options options = TCC_COMPILE_OPTIONS_INIT;
    const char* name = "B";
    options.num_dims = 1;
    options.dim_names = &name;
    options.dim_values = &batch;
    status = tcc_compile(graph, device, &options, &compiled);
  }
  ~Compiled() {
    tcc_graph_destroy(graph);
    tcc_compiled_destroy(compiled);
  }
  tcc_graph* graph = nullptr;
  tcc_compiled* compiled = nullptr;
  tcc_status status = TCC_OK;
};

bool last_error_has(const char* words) { return std::strstr(tcc_last_error(), words) != nullptr; }

TEST(CApi, StatusesAreTheErrorKinds) {
  EXPECT_EQ(TCC_CHECK_FAILED, static_cast<int>(tcc::ErrorKind::check_failed));
  EXPECT_EQ(TCC_BAD_INPUT, static_cast<int>(tcc::ErrorKind::bad_input));
  EXPECT_EQ(TCC_NO_DEVICE, static_cast<int>(tcc::ErrorKind::no_device));
  EXPECT_EQ(TCC_DEVICE_FAILED, static_cast<int>(tcc::ErrorKind::device));
  EXPECT_EQ(TCC_CANCELLED, static_cast<int>(tcc::ErrorKind::cancelled));
  EXPECT_EQ(TCC_INTERNAL, static_cast<int>(tcc::ErrorKind::internal));
  EXPECT_EQ(tcc::version(), tcc_version());
}

TEST(CApi, TellsOfAGraph) {
  Compiled mlp_on_null("null");
  ASSERT_EQ(mlp_on_null.status, TCC_OK) << tcc_last_error();
  EXPECT_EQ(tcc_graph_num_inputs(mlp_on_null.graph), 1u);
  EXPECT_EQ(tcc_graph_num_outputs(mlp_on_null.graph), 1u);
  tcc_tensor_info info = TCC_TENSOR_INFO_INIT;
  ASSERT_EQ(tcc_graph_input(mlp_on_null.graph, 0, &info), TCC_OK);
  EXPECT_STREQ(info.name, "x");
  EXPECT_STREQ(info.dtype, "f32");
  EXPECT_STREQ(info.shape_text, "[B, 784]");
  EXPECT_EQ(info.rank, 2u);
  EXPECT_EQ(info.shape, nullptr);
  ASSERT_EQ(tcc_compiled_output(mlp_on_null.compiled, 0, &info), TCC_OK);
  EXPECT_STREQ(info.name, "y");
  EXPECT_STREQ(info.shape_text, "[2, 10]");
  EXPECT_EQ(info.shape[1], 10);
  EXPECT_EQ(info.bytes, 80);
  EXPECT_STREQ(tcc_device(mlp_on_null.compiled), "null");
  EXPECT_GT(tcc_launches(mlp_on_null.compiled), 0);
  EXPECT_GT(tcc_arena_bytes(mlp_on_null.compiled), 0);
  EXPECT_GT(tcc_constant_bytes(mlp_on_null.compiled), 0);
  EXPECT_EQ(std::strncmp(tcc_kernel_report(mlp_on_null.compiled), "[{\"region\":", 11), 0)
      << tcc_kernel_report(mlp_on_null.compiled);
}

TEST(CApi, KernelsHaveKeysLayersAndTimes) {
  if (!tcc::testing::has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  Compiled mlp_on_vulkan("vulkan:0");
  ASSERT_EQ(mlp_on_vulkan.status, TCC_OK) << tcc_last_error();
  const auto kernels = nlohmann::json::parse(tcc_kernel_report(mlp_on_vulkan.compiled));
  ASSERT_GT(kernels.size(), 0u);
  int64_t launches = 0;
  for (const nlohmann::json& kernel : kernels) {
    EXPECT_EQ(kernel.at("region_key").get<std::string>().size(), 32u);
    EXPECT_EQ(kernel.at("source_key").get<std::string>().size(), 32u);
    EXPECT_GT(kernel.at("least_seconds").get<double>(), 0);
    EXPECT_FALSE(kernel.at("layers").empty());
    launches += kernel.at("launches").get<int64_t>();
  }
  EXPECT_EQ(launches, tcc_launches(mlp_on_vulkan.compiled));
  tcc_context* context = nullptr;
  ASSERT_EQ(tcc_context_create(mlp_on_vulkan.compiled, &context), TCC_OK) << tcc_last_error();
  std::vector<double> seconds(kernels.size());
  EXPECT_EQ(tcc_context_time_kernels(context, seconds.data(), seconds.size()), TCC_OK)
      << tcc_last_error();
  for (const double one : seconds) EXPECT_GT(one, 0);
  EXPECT_EQ(tcc_context_time_kernels(context, seconds.data(), seconds.size() + 1), TCC_BAD_INPUT);
  EXPECT_TRUE(last_error_has("of ")) << tcc_last_error();
  EXPECT_EQ(tcc_context_time_kernels(context, nullptr, 0), TCC_BAD_INPUT);
  EXPECT_NE(std::strstr(tcc_kernel_source(mlp_on_vulkan.compiled, 0), "#version"), nullptr);
  EXPECT_EQ(tcc_kernel_source(mlp_on_vulkan.compiled, kernels.size()), nullptr);
  tcc_context_destroy(context);
}

TEST(CApi, RunsInTwoThreadsLikeTheReference) {
  if (!tcc::testing::has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  Compiled mlp_on_vulkan("vulkan:0");
  ASSERT_EQ(mlp_on_vulkan.status, TCC_OK) << tcc_last_error();
  const auto work = [&](unsigned seed) {
    tcc_context* context = nullptr;
    ASSERT_EQ(tcc_context_create(mlp_on_vulkan.compiled, &context), TCC_OK) << tcc_last_error();
    const std::vector<float> x = numbers(2 * 784, seed);
    std::vector<float> y(20);
    const void* inputs[] = {x.data()};
    void* outputs[] = {y.data()};
    ASSERT_EQ(tcc_context_run_host(context, inputs, 1, outputs, 1), TCC_OK) << tcc_last_error();
    EXPECT_EQ(tcc_context_run(context, inputs, 1, outputs, 1),
              TCC_BAD_INPUT);  // Vulkan takes no foreign memory
    EXPECT_EQ(tcc_context_synchronize(context), TCC_OK);
    tcc_context_destroy(context);
    const std::vector given{tcc::HostTensor::of<float>({2, 784}, x)};
    const auto expected = tcc::run_reference(tcc::Graph::load(mlp()), given, {.dims = {{"B", 2}}});
    tcc::testing::expect_near(y, expected.at(0).as<float>());
  };
  std::thread other(work, 5u);
  work(7u);
  other.join();
}

TEST(CApi, RunsOnTheCallersPointers) {
  Compiled mlp_on_null("null");
  tcc_context* context = nullptr;
  EXPECT_EQ(tcc_context_create_on_stream(mlp_on_null.compiled, nullptr, &context), TCC_BAD_INPUT);
  ASSERT_EQ(tcc_context_create(mlp_on_null.compiled, &context), TCC_OK) << tcc_last_error();
  alignas(16) static float x[2 * 784], y[21];
  const void* inputs[] = {x};
  void* outputs[] = {y};
  EXPECT_EQ(tcc_context_run(context, inputs, 1, outputs, 1), TCC_OK) << tcc_last_error();
  EXPECT_EQ(tcc_context_run(context, inputs, 0, outputs, 1), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_context_run(context, nullptr, 1, outputs, 1), TCC_BAD_INPUT);
  EXPECT_TRUE(last_error_has("inputs is NULL")) << tcc_last_error();
  tcc_tensor_info info = TCC_TENSOR_INFO_INIT;
  EXPECT_EQ(tcc_compiled_input(mlp_on_null.compiled, 0, &info), TCC_OK);
  EXPECT_EQ(info.alignment, 16);
  outputs[0] = y + 1;
  EXPECT_EQ(tcc_context_reserve(context, inputs, 1, outputs, 1), TCC_OK) << tcc_last_error();
  EXPECT_EQ(tcc_context_run(context, inputs, 1, outputs, 1), TCC_OK) << tcc_last_error();
  outputs[0] = reinterpret_cast<char*>(y) + 1;
  EXPECT_EQ(tcc_context_run(context, inputs, 1, outputs, 1), TCC_BAD_INPUT);
  EXPECT_TRUE(last_error_has("'y': the pointer is not aligned to its elements"))
      << tcc_last_error();
  EXPECT_EQ(tcc_context_reserve(context, inputs, 0, outputs, 1), TCC_BAD_INPUT);
  tcc_context_destroy(context);
}

TEST(CApi, ErrorsAreValues) {
  tcc_graph* graph = nullptr;
  EXPECT_EQ(tcc_graph_load("missing.yaml", &graph), TCC_BAD_INPUT);
  EXPECT_TRUE(last_error_has("missing.yaml")) << tcc_last_error();
  EXPECT_EQ(tcc_graph_from_yaml("tcc: 1\nnodes: 3\n", nullptr, &graph), TCC_BAD_INPUT);
  EXPECT_TRUE(last_error_has("<yaml>:")) << tcc_last_error();
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(Compiled("abacus").status, TCC_NO_DEVICE);
  EXPECT_TRUE(last_error_has("abacus")) << tcc_last_error();
  EXPECT_EQ(Compiled("null", -1).status, TCC_BAD_INPUT);
  std::thread([] { EXPECT_STREQ(tcc_last_error(), ""); }).join();
}

TEST(CApi, NullIsAnError) {
  tcc_graph* graph = nullptr;
  tcc_compiled* compiled = nullptr;
  tcc_context* context = nullptr;
  tcc_tensor_info info = TCC_TENSOR_INFO_INIT;
  EXPECT_EQ(tcc_graph_load(nullptr, &graph), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_graph_load(mlp().c_str(), nullptr), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_graph_from_yaml(nullptr, nullptr, &graph), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_graph_input(nullptr, 0, &info), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_compile(nullptr, "null", nullptr, &compiled), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_context_create(nullptr, &context), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_context_run(nullptr, nullptr, 0, nullptr, 0), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_context_run_host(nullptr, nullptr, 0, nullptr, 0), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_context_synchronize(nullptr), TCC_BAD_INPUT);
  EXPECT_EQ(tcc_graph_num_inputs(nullptr), 0u);
  EXPECT_EQ(tcc_launches(nullptr), 0);
  EXPECT_STREQ(tcc_kernel_report(nullptr), "[]");
  tcc_graph_destroy(nullptr);
  tcc_compiled_destroy(nullptr);
  tcc_context_destroy(nullptr);
}

TEST(CApi, StructsOfOtherVersions) {
  Compiled mlp_on_null("null");
  tcc_compiled* compiled = nullptr;

  // Newer and larger: fine as long as what is unknown is zero.
  struct {
    tcc_compile_options known = TCC_COMPILE_OPTIONS_INIT;
    std::int64_t unknown = 0;
  } newer;
  newer.known.size = sizeof newer;
  EXPECT_EQ(tcc_compile(mlp_on_null.graph, "null", &newer.known, &compiled), TCC_OK)
      << tcc_last_error();
  tcc_compiled_destroy(compiled);
  newer.unknown = 1;
  EXPECT_EQ(tcc_compile(mlp_on_null.graph, "null", &newer.known, &compiled), TCC_BAD_INPUT);
  EXPECT_TRUE(last_error_has("does not know")) << tcc_last_error();

  // Older and smaller: what lies behind is neither read nor written.
  tcc_compile_options older = TCC_COMPILE_OPTIONS_INIT;
  older.size = offsetof(tcc_compile_options, dtype);
  older.dtype = "nonsense";
  EXPECT_EQ(tcc_compile(mlp_on_null.graph, "null", &older, &compiled), TCC_OK) << tcc_last_error();
  tcc_compiled_destroy(compiled);
  tcc_tensor_info info = TCC_TENSOR_INFO_INIT;
  info.size = offsetof(tcc_tensor_info, rank);
  info.rank = 77;
  EXPECT_EQ(tcc_compiled_input(mlp_on_null.compiled, 0, &info), TCC_OK);
  EXPECT_STREQ(info.name, "x");
  EXPECT_EQ(info.rank, 77u);

  info.size = 0;
  EXPECT_EQ(tcc_compiled_input(mlp_on_null.compiled, 0, &info), TCC_BAD_INPUT);
  EXPECT_TRUE(last_error_has("sizeof(tcc_tensor_info)")) << tcc_last_error();
  info.size = sizeof info;
  EXPECT_EQ(tcc_compiled_input(mlp_on_null.compiled, 1, &info), TCC_BAD_INPUT);
  EXPECT_TRUE(last_error_has("index 1 of 1")) << tcc_last_error();
}

}  // namespace
