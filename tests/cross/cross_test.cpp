// Executables that are compiled here and run by libtcc-runtime for another system (./dev cross
// builds it), in an emulator on the software device. They are skipped where the system's build, its
// emulator or the device is missing.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "backends/compile/process.h"
#include "backends/pipeline.h"
#include "executable/serialize.h"
#include "frontend/graph_file.h"
#include "runtime/program.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/run_command.h"

namespace tcc::runtime {
namespace {

class Cross : public ::testing::TestWithParam<std::string> {
 protected:
  // The emulators' CPUs have vectors of 128 bits: the device here gets the same, subgroups of 4.
  static void SetUpTestSuite() { ::setenv("LP_NATIVE_VECTOR_WIDTH", "128", 1); }

  void SetUp() override {
    const testing::Outcome outcome = on_system("true", "");
    if (outcome.code == 77) GTEST_SKIP() << outcome.text;
    ASSERT_EQ(outcome.code, 0) << outcome.text;
    for (const DeviceEntry& entry : list_devices().devices)
      if (entry.name.starts_with("vulkan") && !device && open_device(entry.name)->target().is_cpu)
        device = open_device(entry.name);
    if (!device) GTEST_SKIP() << "skipped: no software device";
    ASSERT_EQ(device->target().subgroup_size, 4);
  }

  testing::Outcome on_system(const std::string& program, const std::string& arguments,
                             const std::string& errors = "&1") const {
    return testing::run_command(str(TCC_SOURCE_DIR, "/tests/cross/run.sh ", GetParam(), " ",
                                    program, " ", arguments, " 2>", errors));
  }

  // Compiles a graph, runs it here and there on inputs 0, 1, 2, ..., and compares.
  void expect_same(const std::string& yaml, double tolerance) {
    const exec::Executable executable =
        backends::compile(parse_yaml_graph(yaml, "graph.yaml", "."), device->target(), {});
    exec::save_executable(executable, folder.path() / "graph.tccx");
    std::vector<Tensor> inputs;
    for (const int number : executable.inputs) {
      const exec::BufferInfo& buffer = executable.buffers[static_cast<size_t>(number)];
      Tensor& input = inputs.emplace_back(buffer.dtype, exec::Sizes{}.of(buffer.shape));
      for (int64_t i = 0; i < input.numel(); ++i) input.set(i, static_cast<double>(i));
    }
    Context context(std::make_shared<const Program>(device, executable));
    const auto errors = folder.path() / "errors";  // what an emulator may say beside the results
    const testing::Outcome outcome =
        on_system("run_executable", (folder.path() / "graph.tccx").string() + " vulkan:0", errors);
    ASSERT_EQ(outcome.code, 0) << outcome.text << read_file(errors);
    std::istringstream printed(outcome.text);
    size_t compared = 0;
    for (const Tensor& expected : context.run(inputs)) {
      for (int64_t i = 0; i < expected.numel(); ++i, ++compared) {
        std::string word;
        ASSERT_TRUE(printed >> word) << "element " << i << " is missing: " << outcome.text;
        const double value = std::strtod(word.c_str(), nullptr);
        if (std::isnan(expected.get(i)))
          EXPECT_TRUE(std::isnan(value)) << i << ": " << word;
        else
          EXPECT_NEAR(value, expected.get(i), tolerance * (1 + std::abs(expected.get(i)))) << i;
      }
    }
    std::string rest;
    EXPECT_FALSE(printed >> rest) << rest;
    EXPECT_GT(compared, 0u);
  }

  std::shared_ptr<Device> device;
  const backends::TemporaryFolder folder;
};
INSTANTIATE_TEST_SUITE_P(Systems, Cross, ::testing::Values("aarch64", "windows"),
                         [](const auto& test) { return test.param; });

TEST_P(Cross, LayersRun) {
  expect_same(
      "tcc: 1\n"
      "inputs: {x: {dtype: f32, shape: [3, 24]}}\n"
      "weights: {w: {dtype: f32, shape: [40, 24], init: {normal: 0.01}},\n"
      "  b: {dtype: f32, shape: [40], init: {normal: 1}}}\n"
      "nodes:\n"
      "  - {out: y, op: linear, in: [x, w, b]}\n"
      "  - {out: z, op: softmax, in: [y], dim: -1}\n"
      "outputs: [y, z]\n",
      1e-5);
}

TEST_P(Cross, ConvolutionsAndMovementsRun) {
  expect_same(
      "tcc: 1\n"
      "inputs: {x: {dtype: f32, shape: [1, 3, 9, 7]}}\n"
      "weights: {w: {dtype: f32, shape: [5, 3, 3, 3], init: {normal: 0.01}}}\n"
      "nodes:\n"
      "  - {out: y, op: conv2d, in: [x, w], stride: [2, 1], padding: [1, 1]}\n"
      "  - {out: t, op: permute, in: [y], dims: [0, 2, 3, 1]}\n"
      "  - {out: z, op: tanh, in: [t]}\n"
      "outputs: [z]\n",
      1e-5);
}

// Integers, sorting, and types of 16 bits, which kernels compute with in f32: nothing is rounded
// differently.
TEST_P(Cross, IntegersAndNarrowTypesAreExact) {
  expect_same(
      "tcc: 1\n"
      "inputs: {x: {dtype: f16, shape: [2, 33]}, i: {dtype: i64, shape: [5]}}\n"
      "nodes:\n"
      "  - {out: s, op: sum, in: [x], dim: [1]}\n"
      "  - {out: [v, at], op: sort, in: [x], dim: 1, descending: true}\n"
      "  - {out: j, op: mul, in: [i, i]}\n"
      "outputs: [s, v, at, j]\n",
      0);
}

TEST_P(Cross, DamagedFilesAreRefused) {
  const auto path = folder.path() / "damaged.tccx";
  std::ofstream(path) << "tcc-exec and nothing else";
  const testing::Outcome outcome = on_system("run_executable", path.string() + " null");
  EXPECT_EQ(outcome.code, 1) << outcome.text;
  EXPECT_NE(outcome.text.find("damaged.tccx: "), std::string::npos) << outcome.text;
  const testing::Outcome missing =
      on_system("run_executable", (folder.path() / "none.tccx").string() + " null");
  EXPECT_EQ(missing.code, 1) << missing.text;
  EXPECT_NE(missing.text.find("none.tccx: cannot open: No such file"), std::string::npos)
      << missing.text;
}

TEST_P(Cross, ForeignExecutablesAreRefused) {
  const exec::Executable executable =
      backends::compile(parse_yaml_graph("tcc: 1\ninputs: {x: {dtype: f32, shape: [3]}}\n"
                                         "nodes:\n  - {out: y, op: relu, in: [x]}\noutputs: [y]\n",
                                         "graph.yaml", "."),
                        device->target(), {});
  exec::save_executable(executable, folder.path() / "graph.tccx");
  const testing::Outcome outcome =
      on_system("run_executable", (folder.path() / "graph.tccx").string() + " null");
  EXPECT_EQ(outcome.code, 1) << outcome.text;
  EXPECT_NE(outcome.text.find("was compiled for"), std::string::npos) << outcome.text;
}

// The unit tests that need the runtime alone, built for the system.
TEST_P(Cross, ChecksOfTheRuntimePass) {
  const testing::Outcome outcome = on_system("runtime_checks", "--gtest_brief=1");
  if (outcome.code == 77) GTEST_SKIP() << outcome.text;
  EXPECT_EQ(outcome.code, 0) << outcome.text;
}

}  // namespace
}  // namespace tcc::runtime
