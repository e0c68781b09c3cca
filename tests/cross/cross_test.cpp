// Executables that are compiled here and run by libtcc-runtime for another system (./dev cross
// builds it), in an emulator on the software device. They are skipped where the system's build, its
// emulator or the device is missing.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "backends/compile/process.h"
#include "backends/pipeline.h"
#include "executable/package.h"
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
    const exec::Executable executable = compile(yaml, {});
    exec::save_executable(executable, folder.path() / "graph.tccx");
    expect_same(executable, "graph.tccx", {{}}, tolerance);
  }

  exec::Executable compile(const std::string& yaml, const ir::SizeRanges& dims) const {
    backends::CompileOptions options;
    options.open_dims = dims;
    return backends::compile(parse_yaml_graph(yaml, "graph.yaml", "."), device->target(), options);
  }

  // The same of a package, in which the executable is the second part, at some sizes in turn. They
  // must choose from several kernels.
  void expect_same_in_package(const std::string& yaml, const ir::SizeRanges& dims,
                              const std::vector<exec::Dims>& sizes, double tolerance) {
    const exec::Executable executable = compile(yaml, dims);
    EXPECT_FALSE(executable.tables.empty());
    exec::Executable other = executable;
    other.target.subgroup_size = 64;
    other.target.arch = "elsewhere";
    exec::save_package({"open", {other, executable}, {}}, folder.path() / "open.tccpkg");
    const size_t kernels = expect_same(executable, "open.tccpkg", sizes, tolerance);
    EXPECT_GT(kernels, 1u) << "all sizes have the same kernels";
  }

  // Runs a file with the executable there. Returns how many sets of kernels ran.
  size_t expect_same(const exec::Executable& executable, const std::string& file,
                     const std::vector<exec::Dims>& sizes, double tolerance) {
    std::string arguments = str((folder.path() / file).string(), " vulkan:0");
    for (const exec::Dims& dims : sizes) {
      std::string list;
      for (const auto& [name, size] : dims) list += str(list.empty() ? "" : ",", name, "=", size);
      if (!dims.empty()) arguments += " " + list;
    }
    const auto errors = folder.path() / "errors";  // what an emulator may say beside the results
    const testing::Outcome outcome = on_system("run_executable", arguments, errors);
    EXPECT_EQ(outcome.code, 0) << outcome.text << read_file(errors);
    std::istringstream printed(outcome.text);
    std::set<std::vector<int>> kernels;
    size_t compared = 0;
    Context context(std::make_shared<const Program>(device, executable), nullptr, sizes.at(0));
    for (const exec::Dims& dims : sizes) {
      SCOPED_TRACE(arguments);
      context.set_dims(dims);
      std::vector<Tensor> inputs;
      for (const int number : executable.inputs) {
        const exec::BufferInfo& buffer = executable.buffers[static_cast<size_t>(number)];
        Tensor& input = inputs.emplace_back(buffer.dtype, context.sizes().of(buffer.shape));
        for (int64_t i = 0; i < input.numel(); ++i) input.set(i, static_cast<double>(i));
      }
      for (const Tensor& expected : context.run(inputs))
        compared += expect_elements(expected, printed, tolerance);
      if (HasFailure()) return 0;
      kernels.insert(context.step_counts());
    }
    std::string rest;
    EXPECT_FALSE(printed >> rest) << rest;
    EXPECT_GT(compared, 0u);
    return kernels.size();
  }

  // Returns how many elements it compared.
  static size_t expect_elements(const Tensor& expected, std::istream& printed, double tolerance) {
    for (int64_t i = 0; i < expected.numel(); ++i) {
      std::string word;
      if (!(printed >> word)) {
        ADD_FAILURE() << "element " << i << " is missing";
        return 0;
      }
      const double value = std::strtod(word.c_str(), nullptr);
      if (std::isnan(expected.get(i)))
        EXPECT_TRUE(std::isnan(value)) << i << ": " << word;
      else
        EXPECT_NEAR(value, expected.get(i), tolerance * (1 + std::abs(expected.get(i)))) << i;
    }
    return static_cast<size_t>(expected.numel());
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

// Packages whose kernels the sizes of a run choose.
TEST_P(Cross, PackagesRunAtTheirSizes) {
  expect_same_in_package(
      "tcc: 1\n"
      "dims: {S: 64}\n"
      "inputs: {x: {dtype: f32, shape: [S, 48]}}\n"
      "weights: {w: {dtype: f32, shape: [40, 48], init: {normal: 0.1}},\n"
      "  b: {dtype: f32, shape: [40], init: {normal: 1}}}\n"
      "nodes:\n"
      "  - {out: r, op: remainder, in: [x, 7.0]}\n"
      "  - {out: y, op: linear, in: [r, w, b]}\n"
      "  - {out: z, op: softmax, in: [y], dim: -1}\n"
      "  - {out: m, op: mean, in: [z], dim: [0]}\n"
      "outputs: [z, m]\n",
      {{"S", {1, 4096, 1}}},
      {{{"S", 1}}, {{"S", 3}}, {{"S", 17}}, {{"S", 130}}, {{"S", 1500}}, {{"S", 4096}}, {{"S", 3}}},
      1e-5);
}

// Offsets beyond 32 bits, which kernels divide by sizes, and the division of integers of 64 bits.
TEST_P(Cross, PackagesDivideBySizes) {
  expect_same_in_package(
      "tcc: 1\n"
      "dims: {S: 8, N: 8}\n"
      "inputs: {x: {dtype: f32, shape: [3, S, N]}, i: {dtype: i64, shape: [S, 5]},\n"
      "  u: {dtype: u64, shape: [S]}}\n"
      "nodes:\n"
      "  - {out: t, op: permute, in: [x], dims: [2, 0, 1]}\n"
      "  - {out: f, op: reshape, in: [t], shape: [3 * S * N]}\n"
      "  - {out: p, op: slice, in: [f], start: 2, step: 5}\n"
      "  - {out: j, op: sub, in: [i, 9]}\n"
      "  - {out: k, op: mul, in: [j, 3037000499]}\n"
      "  - {out: d, op: floor_divide, in: [k, 1000003]}\n"
      "  - {out: m, op: remainder, in: [k, -77]}\n"
      "  - {out: v, op: floor_divide, in: [u, 3]}\n"
      "  - {out: s, op: softmax, in: [x], dim: 1}\n"
      "outputs: [p, d, m, v, s]\n",
      {{"S", {1, 4096, 1}}, {"N", {1, 1000000, 1}}},
      {{{"N", 7}, {"S", 1}},
       {{"N", 1000}, {"S", 3}},
       {{"N", 33}, {"S", 130}},
       {{"N", 2}, {"S", 4096}}},
      1e-6);
}

// A state that grows: each run adds its rows to those before.
TEST_P(Cross, PackagesKeepStatesThatGrow) {
  expect_same_in_package(
      "tcc: 1\n"
      "dims: {N: 4, P: 0}\n"
      "inputs: {x: {dtype: f32, shape: [N, 8]}}\n"
      "states: {past: {dtype: f32, shape: [P + N, 8]}}\n"
      "nodes:\n"
      "  - {out: r, op: remainder, in: [x, 11.0]}\n"
      "  - {out: all, op: append, in: [past, r], dim: 0, length: P}\n"
      "  - {out: rows, op: slice, in: [all], dim: 0, start: 0, end: P + N}\n"
      "  - {out: y, op: softmax, in: [rows], dim: 0}\n"
      "  - {out: m, op: sum, in: [rows], dim: [0]}\n"
      "outputs: [y, m]\n",
      {{"N", {1, 64, 1}}, {"P", {0, 1000, 1}}},
      {{{"N", 1}}, {{"N", 5}}, {{"N", 64}}, {{"N", 1}}, {{"N", 60}}}, 1e-5);
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
