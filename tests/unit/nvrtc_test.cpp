// CUDA C++ to cubins without a GPU: architectures, error messages, concurrency, how the library is
// found.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <thread>

#include "backends/compile/nvrtc.h"
#include "backends/compile/nvrtc_library.h"
#include "backends/compile/process.h"
#include "support/error.h"
#include "support/file.h"

namespace tcc::backends {
namespace {

namespace fs = std::filesystem;

const std::string kernel = R"(
extern "C" __global__ void __launch_bounds__(256) scale(const float* __restrict__ a, float* __restrict__ b) {
  extern __shared__ float tile[];
  const unsigned i = blockIdx.x * 256u + threadIdx.x;
  tile[threadIdx.x] = a[i] * 2.0f + 1.0f;
  __syncthreads();
  b[i] = tile[threadIdx.x ^ 1u];
}
)";

Error error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) { return error; }
  return Error(ErrorKind::internal, "no error");
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class NvrtcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = nvrtc_missing(); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(NvrtcTest, CompilesForRealArchitecturesWithoutGpu) {
  for (const char* arch : {"sm_80", "sm_90a"}) {
    const std::vector<uint8_t> cubin = compile_cuda(kernel, "scale", arch);
    ASSERT_GT(cubin.size(), 64U) << arch;
    EXPECT_EQ(std::string(cubin.begin(), cubin.begin() + 4),
              "\x7f"
              "ELF")
        << arch;
    const std::string text(cubin.begin(), cubin.end());
    EXPECT_TRUE(contains(text, ".text.scale")) << arch;
  }
}

TEST_F(NvrtcTest, CompilesArchitectureSpecificInstructions) {
  const std::string wgmma =
      "extern \"C\" __global__ void k() { asm volatile(\"wgmma.fence.sync.aligned;\" ::: "
      "\"memory\"); }";
  EXPECT_FALSE(compile_cuda(wgmma, "k", "sm_90a").empty());
  EXPECT_TRUE(contains(error_of([&] { compile_cuda(wgmma, "k", "sm_80"); }).what(), "wgmma"));
}

TEST_F(NvrtcTest, IsDeterministic) {
  EXPECT_EQ(compile_cuda(kernel, "scale", "sm_80"), compile_cuda(kernel, "scale", "sm_80"));
}

TEST_F(NvrtcTest, FmadIsAnOption) {
  EXPECT_NE(compile_cuda(kernel, "scale", "sm_80", {.fmad = true}),
            compile_cuda(kernel, "scale", "sm_80", {.fmad = false}));
}

TEST_F(NvrtcTest, NamesKernelAndLineOfAnError) {
  const Error error = error_of([] {
    compile_cuda("extern \"C\" __global__ void k() {\n  nonsense;\n}\n", "my/kernel", "sm_80");
  });
  EXPECT_EQ(error.kind(), ErrorKind::device);
  EXPECT_TRUE(contains(error.what(), "kernel my/kernel does not compile for sm_80:\n"))
      << error.what();
  EXPECT_TRUE(contains(error.what(), "my_kernel.cu(2): error: identifier \"nonsense\""))
      << error.what();
}

TEST_F(NvrtcTest, ErrorsStayShort) {
  std::string source = "extern \"C\" __global__ void k() {\n";
  for (int i = 0; i < 50; ++i) source += str("  nonsense", i, ";\n");
  const std::string message = error_of([&] { compile_cuda(source + "}\n", "k", "sm_80"); }).what();
  EXPECT_LE(std::count(message.begin(), message.end(), '\n'), 8) << message;
}

TEST_F(NvrtcTest, DumpsASourceThatDoesNotCompile) {
  const TemporaryFolder folder;
  const Error error = error_of([&] {
    compile_cuda("nonsense", "../k", "sm_80", {.fmad = true, .dump_folder = folder.path()});
  });
  EXPECT_TRUE(contains(error.what(), "___k.cu")) << error.what();
  EXPECT_EQ(read_file(folder.path() / "___k.cu"), "nonsense");
}

TEST_F(NvrtcTest, RefusesWhatIsNoArchitecture) {
  for (const char* arch : {"", "sm_", "sm_x", "sm_80b", "sm_-80", "sm_80 -G", "sm_99999999999"}) {
    const Error error = error_of([&] { compile_cuda(kernel, "scale", arch); });
    EXPECT_EQ(error.kind(), ErrorKind::bad_input) << arch;
  }
  const Error error = error_of([&] { compile_cuda(kernel, "scale", "sm_10"); });
  EXPECT_EQ(error.kind(), ErrorKind::device);
  EXPECT_TRUE(contains(error.what(), "cannot compile for sm_10; its oldest is sm_"))
      << error.what();
}

TEST_F(NvrtcTest, GivesPtxForArchitecturesOfTheFuture) {
  const std::vector<uint8_t> ptx = compile_cuda(kernel, "scale", "sm_999a");
  ASSERT_FALSE(ptx.empty());
  EXPECT_EQ(ptx.back(), 0);
  const std::string text(ptx.begin(), ptx.end());
  EXPECT_TRUE(contains(text, ".visible .entry scale(")) << text;
  EXPECT_TRUE(contains(text, str(".target sm_", nvrtc().archs.back()))) << text;
}

TEST_F(NvrtcTest, IsThreadSafe) {
  const std::vector<uint8_t> expected = compile_cuda(kernel, "scale", "sm_80");
  std::vector<std::vector<uint8_t>> cubins(4);
  std::vector<std::string> messages(cubins.size());
  std::vector<std::thread> threads;
  for (size_t t = 0; t < cubins.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 3; ++i) {
        cubins[t] = compile_cuda(kernel, "scale", "sm_80");
        messages[t] = error_of([] { compile_cuda("nonsense", "bad", "sm_80"); }).what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& cubin : cubins) EXPECT_EQ(cubin, expected);
  for (const auto& message : messages)
    EXPECT_TRUE(contains(message, "kernel bad does not compile")) << message;
}

TEST_F(NvrtcTest, CompilesASmallKernelQuickly) {
  compile_cuda(kernel, "warm", "sm_90a");
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    compile_cuda(kernel, "scale", "sm_90a");
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  RecordProperty("milliseconds", std::to_string(best * 1e3));
  EXPECT_LT(best, 1);  // 0.02 s alone; sanitizers and other tests take their share
}

TEST_F(NvrtcTest, SaysWhichCompilerItIs) {
  EXPECT_TRUE(contains(nvrtc_id(), str("nvrtc ", nvrtc().major, ".", nvrtc().minor))) << nvrtc_id();
}

TEST(NvrtcLibraryTest, SaysWhyAFileIsNoLibrary) {
  EXPECT_TRUE(contains(error_of([] { open_nvrtc("/nonexistent/libnvrtc.so"); }).what(),
                       "/nonexistent/libnvrtc.so"));
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "libnvrtc.so.13").string();
  write_file_atomic(file, "not a library");
  const Error error = error_of([&] { open_nvrtc(file); });
  EXPECT_EQ(error.kind(), ErrorKind::device);
  EXPECT_TRUE(contains(error.what(), file)) << error.what();
}

TEST(NvrtcLibraryTest, RefusesAnotherLibrary) {
  const Error error = error_of([] { open_nvrtc("libm.so.6"); });
  EXPECT_TRUE(contains(error.what(), "libm.so.6: no function nvrtc")) << error.what();
}

TEST(NvrtcLibraryTest, PrefersTheNewestInAFolder) {
  const TemporaryFolder folder;
  const fs::path packages = folder.path() / "lib/python3.12/site-packages/nvidia/cu13/lib";
  fs::create_directories(packages);
  for (const char* name :
       {"libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc-builtins.so.13.0", "libnvrtc.alt.so.13"})
    write_file_atomic(packages / name, "");
  const std::vector<std::string> files =
      nvrtc_files_in((folder.path() / "lib/python3*/site-packages/nvidia/*/lib").string());
  EXPECT_EQ(files,
            (std::vector<std::string>{packages / "libnvrtc.so.13", packages / "libnvrtc.so.12"}));
}

// The choice of library is made once per process: these run in processes of their own.
class NvrtcEnvironmentDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  [[noreturn]] static void print_missing(const char* library) {
    ::setenv("TCC_NVRTC", library, 1);
    std::fprintf(stderr, "id %s: %s\n", nvrtc_id().c_str(), nvrtc_missing().c_str());
    std::_Exit(0);
  }
};

TEST_F(NvrtcEnvironmentDeathTest, NamedFileIsMissing) {
  EXPECT_EXIT(print_missing("/nonexistent/libnvrtc.so"), ::testing::ExitedWithCode(0),
              "id none: NVRTC: /nonexistent/libnvrtc.so: cannot open shared object file");
}

TEST_F(NvrtcEnvironmentDeathTest, NamedFolderHasNone) {
  EXPECT_EXIT(print_missing("/"), ::testing::ExitedWithCode(0),
              "id none: TCC_NVRTC: no libnvrtc.so in /");
}

}  // namespace
}  // namespace tcc::backends
