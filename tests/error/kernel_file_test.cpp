// Kernel files that are wrong: each case changes a good file in one place, and the message names
// file, line and key.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>

#include "autotune/user_kernel/user_tunable.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/expect_error.h"

namespace tcc::autotune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGood = R"(tcc_kernel: 1
name: scale
dims: {N: 64}
inputs:
  x: {dtype: f32, shape: [N], range: [0, 1]}
outputs:
  y: {dtype: f32, shape: [N]}
scalars: {FACTOR: 2.5, HALF: N // 2}
vulkan: {source: scale.comp}
parameters:
  THREADS: [32, 64]
  EACH: [1, 2]
constraints:
  - THREADS * EACH <= N
default: {THREADS: 32, EACH: 1}
launch:
  workgroup: [THREADS]
  grid: [(N + THREADS - 1) // THREADS]
  shared: 4 * THREADS
flops: N
check: {config: {THREADS: 64, EACH: 1}}
)";

struct Case {
  std::string change, to, message;  // message: after the file's name
};

const Case kCases[] = {
    {"tcc_kernel: 1", "tcc_kernel: 2", ":1: key 'tcc_kernel': only version 1 is known"},
    {"tcc_kernel: 1", "tcc_kernel: one", ":1: key 'tcc_kernel': must be an integer"},
    {"tcc_kernel: 1", "kernel: 1", ":1: no kernel file: 'tcc_kernel: 1' is missing"},
    {"name: scale\n", "", ":1: missing key 'name'"},
    {"name: scale", "name: sca-le", ":2: key 'name': 'sca-le' must be a letter"},
    {"name: scale", "name: \"\"", ":2: key 'name': '' must be a letter"},
    {"name: scale", "name: [scale]", ":2: key 'name': must be text"},
    {"name: scale", "name: a__b", "is reserved in GLSL"},
    {"{N: 64}", "{N: 0}", ":3: key 'N': 0 is not in [1, 1099511627776]"},
    {"{N: 64}", "{N: -1}", ":3: key 'N': -1 is not in"},
    {"{N: 64}", "{N: 99999999999999}", ":3: key 'N': 99999999999999 is not in"},
    {"{N: 64}", "{N: 1e3}", ":3: key 'N': must be an integer"},
    {"{N: 64}", "{N: 64, N: 32}", ":3: key 'dims': duplicate key 'N'"},
    {"{N: 64}", "{gl_N: 64}", ":3: key 'gl_N': 'gl_N' is reserved in GLSL"},
    {"{N: 64}", "{9N: 64}", ":3: key '9N': '9N' must be a letter"},
    {"{N: 64}", "64", ":3: key 'dims': must be a map"},
    {"{dtype: f32, shape: [N], range", "{dtype: float, shape: [N], range", ":5: key 'dtype': "},
    {"{dtype: f32, shape: [N], range", "{shape: [N], range", ":5: key 'x': missing key 'dtype'"},
    {"shape: [N], range", "shape: [M], range", ":5: key 'shape': unknown name 'M'"},
    {"shape: [N], range", "shape: N, range", ":5: key 'shape': must be a list"},
    {"shape: [N], range", "shape: [THREADS], range", ":5: key 'shape': unknown name 'THREADS'"},
    {"shape: [N], range", "shape: [N - 64], range", "'x' is f32[0]: it has no elements"},
    {"shape: [N], range", "shape: [N - 65], range", "a size that no buffer has"},
    {"shape: [N], range", "shape: [N * 1000000000000], range", "a size that no buffer has"},
    {"shape: [N], range", "shape: [N * 9000000000000000000], range", "does not fit in 64 bits"},
    {"[0, 1]", "[1, 0]", ":5: key 'range': must be finite, the first below the second"},
    {"[0, 1]", "[0, .inf]", ":5: key 'range': must be finite"},
    {"[0, 1]", "[0, .nan]", ":5: key 'range': must be finite"},
    {"[0, 1]", "[0]", ":5: key 'range': must be [low, high]"},
    {"range: [0, 1]", "fill: random", ":5: unknown key 'fill'"},
    {"y: {dtype: f32, shape: [N]}", "y: {dtype: f32, shape: [N], range: [0, 1]}",
     ":7: unknown key 'range'"},
    {"  y: {dtype: f32, shape: [N]}", "  x: {dtype: f32, shape: [N]}",
     ":7: key 'x': 'x' is defined twice"},
    {"  y: {dtype: f32, shape: [N]}", "  {}",
     ":7: key 'outputs': must have 1 to 16 entries, not 0"},
    {"FACTOR: 2.5", "FACTOR: 1e999", ":8: key 'FACTOR': must be"},
    {"FACTOR: 2.5", "FACTOR: two", ":8: key 'FACTOR': unknown name 'two'"},
    {"FACTOR: 2.5", "N: 2.5", ":8: key 'N': 'N' is defined twice"},
    {"HALF: N // 2", "HALF: N // 0", "the divisor is 0, not positive"},
    {"HALF: N // 2", "HALF: FACTOR * 2", ":8: key 'HALF': unknown name 'FACTOR'"},
    {"HALF: N // 2", "HALF: \"2; int x\"", ":8: key 'HALF': expected an operator"},
    {"scale.comp", "/etc/passwd", ":9: key 'source': "},
    {"scale.comp", "../scale.comp", ":9: key 'source': "},
    {"scale.comp", "missing.comp", ":9: key 'source': "},
    {"scale.comp", "link.comp", ":9: key 'source': "},
    {"scale.comp", "folder", ":9: key 'source': "},
    {"scale.comp", "binary.comp", ":9: key 'source': is not a text file"},
    {"scale.comp", "\"a\\\"b.comp\"", ":9: key 'source': no quotes"},
    {"{source: scale.comp}", "{source: scale.comp, entry: main}", ":9: unknown key 'entry'"},
    {"vulkan: {source: scale.comp}\n", "", ":1: needs a source: one of the keys 'cuda', 'vulkan', or several"},
    {"[32, 64]", "[]", ":11: key 'THREADS': must have at least one value"},
    {"[32, 64]", "[32, 32]", ":11: key 'THREADS': has a value twice"},
    {"[32, 64]", "[32, 0.5]", ":11: key 'THREADS': must be an integer"},
    {"[32, 64]", "[32, 18446744073709551616]", ":11: key 'THREADS': must be an integer"},
    {"[32, 64]", "[32, 9000000000000000000]", ":11: key 'THREADS': 9000000000000000000 is not in"},
    {"EACH: [1, 2]", "N: [1, 2]", ":12: key 'N': 'N' is defined twice"},
    {"EACH: [1, 2]", "FACTOR: [1, 2]", ":12: key 'FACTOR': 'FACTOR' is defined twice"},
    {"- THREADS * EACH <= N", "- THREADS * EACH <= M", ":14: key 'constraints': unknown name 'M'"},
    {"- THREADS * EACH <= N", "- THREADS * EACH < = N",
     ":14: key 'constraints': expected a number"},
    {"- THREADS * EACH <= N", "- FACTOR < 3", ":14: key 'constraints': unknown name 'FACTOR'"},
    {"- THREADS * EACH <= N", "- N % (EACH - 1) == 0",
     ":14: key 'constraints': 'N % (EACH - 1) == 0': the divisor is 0"},
    {"- THREADS * EACH <= N", "- [THREADS]", ":14: key 'constraints': must be text"},
    {"- THREADS * EACH <= N", "- THREADS > 32", "the default config is not legal for these dims"},
    {"default: {THREADS: 32, EACH: 1}", "default: {THREADS: 32}",
     ":15: key 'default': parameter 'EACH' is missing"},
    {"default: {THREADS: 32, EACH: 1}", "default: {THREADS: 48, EACH: 1}",
     ":15: key 'default': parameter 'THREADS' cannot be 48"},
    {"default: {THREADS: 32, EACH: 1}", "default: {THREADS: 32, EACH: 1, X: 1}",
     ":15: key 'default': unknown parameter 'X'"},
    {"[THREADS]\n", "[THREADS, 1, 1, 1]\n",
     ":17: key 'workgroup': must have 1 to 3 entries, not 4"},
    {"[THREADS]\n", "[]\n", ":17: key 'workgroup': must have 1 to 3 entries, not 0"},
    {"[THREADS]\n", "[THREADS * 100000]\n", "workgroup of 1 to"},
    {"[THREADS]\n", "[THREADS - 32]\n", "workgroup of 1 to"},
    {"[THREADS]\n", "[THREADS * 4000000000, 4000000000]\n", "workgroup of 1 to"},
    {"[THREADS]\n", "[1, 1, 128]\n", "at most 64 deep"},
    {"[(N + THREADS - 1) // THREADS]", "[0]", "grid within"},
    {"[(N + THREADS - 1) // THREADS]", "[1, 1 & 20]", ":18: key 'grid': "},
    {"[(N + THREADS - 1) // THREADS]", "[1, 99999999]", "grid within"},
    {"4 * THREADS", "4000000 * THREADS", "shared memory of at most"},
    {"4 * THREADS", "-1", "shared memory of at most"},
    {"flops: N", "flops: -N", ":20: key 'flops': is negative"},
    {"flops: N", "flop: N", ":20: unknown key 'flop'"},
    {"check: {config: {THREADS: 64, EACH: 1}}\n", "", ":1: missing key 'check'"},
    {"{config: {THREADS: 64, EACH: 1}}", "{}", ":21: key 'check': must be {graph: FILE}"},
    {"{config: {THREADS: 64, EACH: 1}}", "{graph: a.yaml, kernel: b.yaml}",
     ":21: key 'check': must be"},
    {"{config: {THREADS: 64, EACH: 1}}", "{config: {THREADS: 65, EACH: 1}}",
     ":21: key 'config': parameter 'THREADS' cannot be 65"},
    {"{config: {THREADS: 64, EACH: 1}}", "{config: {THREADS: 64, EACH: 2}}",
     ":21: key 'check': config EACH=2 THREADS=64: "},
    {"{config: {THREADS: 64, EACH: 1}}", "{kernel: /etc/passwd}", ":21: key 'kernel': "},
    {"{config: {THREADS: 64, EACH: 1}}", "{kernel: scale.comp}", "scale.comp:"},
};

class KernelFileErrors : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("kernel-files-" + std::to_string(::getpid()));
    fs::create_directories(folder_ / "folder");
    write_file_atomic(folder_ / "scale.comp", "#version 450\nvoid main() {}\n");
    write_file_atomic(folder_ / "binary.comp", std::string("#version 450\n\0", 14));
    fs::remove(folder_ / "link.comp");
    fs::create_symlink("/etc/passwd", folder_ / "link.comp");
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Gives what reading and binding says of `text`, "" when nothing.
  std::string outcome(const std::string& text) const {
    try {
      const UserKernel kernel = parse_user_kernel(text, "k.yaml", folder_);
      tunable_of(kernel, sched::target_by_name("vulkan"), {});
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
      return error.what();
    }
  }

  fs::path folder_;
};

TEST_F(KernelFileErrors, TheFileIsGoodWithoutAChange) { EXPECT_EQ(outcome(kGood), ""); }

TEST_F(KernelFileErrors, EveryMistakeHasItsMessage) {
  for (const Case& test : kCases) {
    std::string text = kGood;
    const size_t at = text.find(test.change);
    ASSERT_NE(at, std::string::npos) << test.change;
    text.replace(at, test.change.size(), test.to);
    const std::string message = outcome(text);
    EXPECT_NE(message.find(test.message), std::string::npos)
        << test.to << "\n  says:     " << message << "\n  expected: " << test.message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    const size_t place = message.find("k.yaml:");
    if (place == message.npos) continue;
    EXPECT_EQ(message.find("k.yaml:", place + 1), message.npos) << message;
  }
}

TEST_F(KernelFileErrors, Limits) {
  const auto with = [&](const std::string& change, const std::string& to) {
    std::string text = kGood;
    return text.replace(text.find(change), change.size(), to);
  };
  std::string values;
  for (int i = 0; i < 2100; ++i) values += (i ? ", " : "") + std::to_string(i);
  EXPECT_NE(outcome(with("EACH: [1, 2]", "EACH: [" + values + "]\n  MORE: [" + values + "]"))
                .find("more than 4194304 combinations"),
            std::string::npos);
  std::string inputs;
  for (int i = 0; i < 16; ++i) inputs += "  i" + std::to_string(i) + ": {dtype: f32, shape: [N]}\n";
  EXPECT_NE(outcome(with("outputs:", inputs + "outputs:")).find("must have 0 to 16 entries"),
            std::string::npos);
  std::string dims;
  for (int i = 0; i < 40; ++i) dims += ", D" + std::to_string(i) + ": 1";
  EXPECT_NE(outcome(with("{N: 64}", "{N: 64" + dims + "}")).find("must have 0 to 32 entries"),
            std::string::npos);
  EXPECT_NE(outcome(std::string(2 << 20, '[')).find("k.yaml:1: "), std::string::npos);
}

TEST_F(KernelFileErrors, EveryBeginningOfAFileIsRefusedOrRead) {
  const std::string text = kGood;
  for (size_t size = 0; size + 1 < text.size(); ++size)
    EXPECT_NE(outcome(text.substr(0, size)), "") << size;
}

TEST_F(KernelFileErrors, DimsAndSourcesOfTheCommandLine) {
  const UserKernel kernel = parse_user_kernel(kGood, "k.yaml", folder_);
  backends::CompileOptions options;
  options.dims = {{"M", 3}};
  EXPECT_ERROR(tunable_of(kernel, sched::target_by_name("vulkan"), options),
               "k.yaml: no dim 'M'; there are N");
  options.dims = {{"N", 0}};
  EXPECT_ERROR(tunable_of(kernel, sched::target_by_name("vulkan"), options),
               "dim 'N': 0 is not in");
  options.dims = {{"N", 16}};
  EXPECT_ERROR(tunable_of(kernel, sched::target_by_name("vulkan"), options),
               "the default config is not legal for these dims on vulkan");
  EXPECT_ERROR(tunable_of(kernel, sched::target_by_name("cuda:sm_90a"), {}),
               "k.yaml: has no source for cuda; there is vulkan");
}

}  // namespace
}  // namespace tcc::autotune
