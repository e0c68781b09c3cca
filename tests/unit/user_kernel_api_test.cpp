// Kernel files through the public interface, as a program uses them.
#include "tcc/tuned_kernel.hpp"
#include "tests/unit/public_api_fixture.h"

namespace tcc::testing {
namespace {

namespace fs = std::filesystem;

fs::path example(const char* name) { return source_dir() / "examples/kernels" / name; }

TEST(KernelFileApi, TellsWhatTheFileSays) {
  const KernelFile file = KernelFile::load(example("matmul.yaml"));
  EXPECT_EQ(file.name(), "matmul");
  EXPECT_EQ(file.dims(),
            (std::map<std::string, std::int64_t>{{"K", 1024}, {"M", 1024}, {"N", 1024}}));
  ASSERT_EQ(file.inputs().size(), 2u);
  EXPECT_EQ(file.inputs()[0].name, "a");
  EXPECT_EQ(file.inputs()[0].dtype, "f32");
  EXPECT_EQ(file.inputs()[0].shape, (std::vector<std::string>{"M", "K"}));
  EXPECT_EQ(file.outputs()[0].name, "c");
}

TEST(KernelFileApi, RunsOnHostMemory) {
  if (!has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  const std::map<std::string, std::int64_t> dims = {{"M", 5}, {"N", 7}, {"K", 9}};
  const CompiledGraph matmul =
      compile(KernelFile::load(example("matmul.yaml")), "vulkan:0", {.dims = dims});
  EXPECT_EQ(matmul.launches(), 1);
  EXPECT_EQ(matmul.kernels()[0].tier, "default");
  EXPECT_EQ(matmul.outputs()[0].shape, (std::vector<std::int64_t>{5, 7}));

  const std::vector<HostTensor> inputs = {HostTensor::of({5, 9}, numbers(45, 1)),
                                          HostTensor::of({9, 7}, numbers(63, 2))};
  const HostTensor got = Context(matmul).run(inputs).front();
  const HostTensor expected =
      run_reference(Graph::load(example("matmul_graph.yaml")), inputs, {.dims = dims}).front();
  expect_near(got.as<float>(), expected.as<float>());
}

TEST(KernelFileApi, Refusals) {
  EXPECT_THROW(KernelFile::load(example("missing.yaml")), Error);
  const KernelFile file = KernelFile::load(example("matmul.yaml"));
  const auto message = [&](const CompileOptions& options) -> std::string {
    try {
      compile(file, "null", options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message({.dims = {{"Q", 1}}}).find("no dim 'Q'; there are K, M, N"), std::string::npos);
  EXPECT_NE(message({.dtype = "f16"}).find("says the types of its arguments itself"),
            std::string::npos);
  EXPECT_NE(message({}).find("has no source for null"), std::string::npos);
}

}  // namespace
}  // namespace tcc::testing
