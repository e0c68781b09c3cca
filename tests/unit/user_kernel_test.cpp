// Users' own kernels: what is compiled, how records find them, what checks them; and the examples,
// run on Vulkan and compiled for CUDA.
#include <gtest/gtest.h>

#include "autotune/space.h"
#include "backends/compile/code.h"
#include "backends/compile/process.h"
#include "backends/compile/spirv.h"
#include "backends/vulkan/local_size.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/expect_error.h"
#include "tests/unit/user_kernel_fixture.h"

namespace tcc::autotune {
namespace {

using backends::local_size;

sched::Target cuda() { return sched::target_by_name("cuda:sm_90a"); }

TEST(UserKernelTest, DimsScalarsAndParametersAreDefined) {
  const BoundKernel nbody(example("nbody"), {{"N", 256}}, cuda());
  const std::string text =
      nbody.source_text(with(nbody.kernel().default_config, {{"THREADS", 32}, {"BODIES", 2}}));
  EXPECT_EQ(text.substr(0, text.find("//")),
            "#define N 256\n#define SOFTENING (0.01)\n#define BODIES 2\n#define THREADS 32\n"
            "#define UNROLL 4\n#define USE_SHARED 1\n#line 1 \"nbody.cu\"\n");
}

TEST(UserKernelTest, TheVersionStaysFirstInGlsl) {
  const BoundKernel nbody(example("nbody_direct"), {}, sched::target_by_name("vulkan"));
  EXPECT_EQ(nbody.source_text(nbody.kernel().default_config).find("// acceleration"), 0u);
  EXPECT_NE(nbody.source_text(nbody.kernel().default_config)
                .find("#version 450\n#define N 512\n#define SOFTENING (0.01)\n#define THREADS 64\n"
                      "#line 3\n#extension"),
            std::string::npos);
}

TEST(UserKernelTest, LaunchGeometry) {
  const BoundKernel matmul(example("matmul"), {{"M", 100}, {"N", 300}}, cuda());
  backends::CompileOptions options;
  options.binaries = false;
  const exec::StandaloneKernel binary = matmul.compile(
      with(matmul.kernel().default_config, {{"TILE_M", 32}, {"THREAD_M", 2}}), options);
  EXPECT_EQ(binary.grid, (exec::Grid{5, 4, 1}));
  EXPECT_EQ(binary.block, (std::array<uint32_t, 3>{16, 16, 1}));
  EXPECT_EQ(binary.workgroup, 256);
  EXPECT_EQ(binary.shared_bytes, 4 * 16 * (32 + 1 + 64));
  EXPECT_EQ(binary.num_arguments, 3);
  EXPECT_EQ(binary.entry, "matmul");
  EXPECT_EQ(binary.flops, 2.0 * 100 * 300 * 1024);
  EXPECT_EQ(binary.bytes, 4.0 * (100 * 1024 + 1024 * 300 + 100 * 300));
  const exec::Executable executable =
      executable_of(matmul, {matmul.kernel().default_config, sched::Tier::exact}, options);
  EXPECT_EQ(exec::launches(executable).at(0)->flops.usual(), binary.flops);
  EXPECT_EQ(exec::launches(executable).at(0)->bytes.usual(), binary.bytes);
}

TEST(UserKernelTest, TheSpaceHasTheFilesAndTheTargetsLimits) {
  const sched::ConfigSpace space = BoundKernel(example("matmul"), {}, cuda()).space();
  int64_t legal = 0;
  for (int64_t m : {16, 32, 64, 128})
    for (int64_t n : {16, 32, 64, 128})
      for (int64_t per_m : {1, 2, 4, 8})
        for (int64_t per_n : {1, 2, 4, 8}) {
          const int64_t threads = m / per_m * (n / per_n);
          if (threads >= 32 && threads <= 1024) legal += 3 * 2;  // TILE_K, PAD
        }
  EXPECT_EQ(space.size(), legal);
  sched::Target small = cuda();
  small.max_workgroup_size = 256;
  small.shared_bytes = 16 << 10;
  const BoundKernel on_small(example("matmul"), {}, small);
  const sched::Config config = on_small.kernel().default_config;
  EXPECT_LT(on_small.space().size(), space.size());
  EXPECT_EQ(on_small.space().violation(config), "");
  EXPECT_EQ(on_small.space().violation(with(config, {{"THREAD_M", 1}})),
            "workgroup of 1 to 256 threads, at most 64 deep");
  EXPECT_EQ(on_small.space().violation(with(config, {{"TILE_K", 32}})),
            "shared memory of at most 16384 bytes");
}

TEST(UserKernelTest, KeysSayWhatAResultDependsOn) {
  const UserKernel kernel = example("matmul");
  const BoundKernel base(kernel, {}, cuda());
  EXPECT_EQ(key_of(base).kernel_template, "user:matmul");
  EXPECT_EQ(key_of(base).device, "cuda:sm_90a");

  const BoundKernel smaller(kernel, {{"M", 512}}, cuda());
  EXPECT_NE(smaller.region(), base.region());
  EXPECT_EQ(smaller.family(), base.family());

  UserKernel changed = kernel;
  changed.sources.at(sched::Api::cuda).text += "// another comment\n";
  EXPECT_NE(BoundKernel(changed, {}, cuda()).family(), base.family());
  changed = kernel;
  changed.sources.at(sched::Api::vulkan).text += "// another comment\n";
  EXPECT_EQ(BoundKernel(changed, {}, cuda()).region(), base.region());
  changed = kernel;
  changed.parameters[0].values.push_back(256);
  EXPECT_EQ(BoundKernel(changed, {}, cuda()).region(), base.region());
}

TEST(UserKernelTest, RecordsAreFoundByTier) {
  const UserKernel kernel = example("matmul");
  const BoundKernel base(kernel, {}, cuda());
  EXPECT_EQ(choose({}, base).tier, sched::Tier::analytic);
  EXPECT_EQ(choose({}, base).config, kernel.default_config);

  const Tunable tuned = tunable(kernel, cuda());
  Record record;
  record.key = tuned.key;
  record.name = tuned.name;
  record.operands = tuned.operands;
  record.family = tuned.family;
  record.extents = tuned.extents;
  record.environment = tuned.environment;
  record.tcc = tcc_version();
  record.best = with(kernel.default_config, {{"TILE_M", 128}});
  record.seconds = record.low = record.high = 1e-4;
  RecordStore store;
  store.add(record);
  EXPECT_EQ(choose(store, base).tier, sched::Tier::exact);
  EXPECT_EQ(choose(store, base).config, record.best);
  const BoundKernel near(kernel, {{"M", 2048}}, cuda());
  EXPECT_EQ(choose(store, near).tier, sched::Tier::nearest);
  EXPECT_EQ(choose(store, near).config, record.best);
}

TEST(UserKernelTest, WhatChecksAKernel) {
  const Tunable by_graph = tunable(example("matmul"), cuda(), {{"M", 8}, {"N", 4}, {"K", 16}});
  EXPECT_FALSE(by_graph.expected);
  EXPECT_EQ(by_graph.job(1).reference.size(), 32u);

  const Tunable by_kernel = tunable(example("nbody"), cuda(), {{"N", 256}});
  ASSERT_TRUE(by_kernel.expected);
  EXPECT_TRUE(by_kernel.job(1).reference.empty());

  UserKernel kernel = example("matmul");
  kernel.check.kind = KernelCheck::Kind::config;
  kernel.check.config = kernel.default_config;
  EXPECT_FALSE(tunable(kernel, cuda()).expected);
  kernel.check.config->set("PAD", 0);
  EXPECT_TRUE(tunable(kernel, cuda()).expected);
}

// A product of any size is sampled, whatever the order of the kernel's arguments.
TEST(UserKernelTest, AGraphOfOneKernelMayReadInputsInAnotherOrder) {
  UserKernel kernel = example("matmul");
  std::swap(kernel.inputs[0], kernel.inputs[1]);
  const int64_t n = 1024, k = 16384;
  const BenchJob job = tunable(kernel, cuda(), {{"M", 1024}, {"N", n}, {"K", k}}).job(1);
  const std::vector<std::byte> b = input_data(job, 0), a = input_data(job, 1);
  const auto at = [](const std::vector<std::byte>& data, int64_t element) {
    float value;
    std::memcpy(&value, data.data() + element * static_cast<int64_t>(sizeof value), sizeof value);
    return static_cast<double>(value);
  };
  ASSERT_FALSE(job.reference.empty());
  for (const ReferenceSample& sample : job.reference) {
    double sum = 0;
    for (int64_t i = 0; i < k; ++i)
      sum += at(a, sample.element / n * k + i) * at(b, i * n + sample.element % n);
    EXPECT_NEAR(sample.value, sum, 1e-9 * k);
  }
}

TEST(UserKernelTest, AGraphThatDoesNotFitIsRefused) {
  UserKernel kernel = example("matmul");
  kernel.inputs[0].name = "x";
  EXPECT_ERROR(tunable(kernel, cuda()).job(0), "the kernel has no input 'a'");
  kernel = example("matmul");
  kernel.outputs[0].shape.pop_back();
  EXPECT_ERROR(tunable(kernel, cuda()).job(0),
               "'c' is f32[1024, 1024], the kernel's 'c' f32[1024]");
  kernel = example("nbody_direct");
  EXPECT_ERROR(tunable(kernel, cuda(), {{"N", 1 << 16}}).job(0), "too much for the CPU");
  kernel = example("nbody");
  kernel.outputs[0].dtype = DType::f64;
  EXPECT_ERROR(tunable(kernel, cuda()), "nbody_direct.yaml has other arguments: ");
}

std::shared_ptr<runtime::Device> vulkan() {
  try {
    return runtime::open_device("vulkan:0");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::no_device) << error.what();
    return nullptr;
  }
}

TEST(UserKernelTest, ExamplesAreRightOnVulkan) {
  const auto device = vulkan();
  if (!device) GTEST_SKIP() << "no Vulkan device";
  expect_matmul(device, {{},
                         {{"TILE_M", 16}, {"TILE_N", 32}, {"TILE_K", 8}, {"PAD", 0}},
                         {{"TILE_M", 128}, {"TILE_N", 16}, {"TILE_K", 8}, {"THREAD_N", 1}}});
  expect_nbody(device, {{},
                        {{"THREADS", 32}, {"BODIES", 4}, {"UNROLL", 16}},
                        {{"THREADS", 64}, {"BODIES", 2}, {"USE_SHARED", 0}}});
}

TEST(UserKernelTest, WrongResultsAreRejected) {
  const auto device = vulkan();
  if (!device) GTEST_SKIP() << "no Vulkan device";
  const auto changed = [](UserKernel kernel, const std::string& from, const std::string& to) {
    std::string& text = kernel.sources.at(sched::Api::vulkan).text;
    text.replace(text.find(from), from.size(), to);
    return kernel;
  };
  using Status = Measurement::Status;
  const auto measured = [&](const Tunable& kernel) {
    const auto bench = local_bench(device, kernel.job(3));
    const exec::StandaloneSequence binary = kernel.compile(kernel.default_config);
    const Measurement baseline = bench->baseline(kernel.expected ? kernel.expected() : binary);
    return kernel.expected ? bench->measure(binary, Effort::quick, 1.0) : baseline;
  };
  const sched::Target& target = device->target();
  const UserKernel direct = example("nbody_direct"), fast = example("nbody");
  const Dims dims = {{"N", 160}};
  EXPECT_EQ(measured(tunable(direct, target, dims)).status, Status::measured);
  EXPECT_EQ(measured(tunable(fast, target, dims)).status, Status::measured);
  // One of the sum's terms is left out; the last body's result is.
  EXPECT_EQ(measured(tunable(changed(direct, "uint j = 0", "uint j = 1"), target, dims)).status,
            Status::wrong);
  EXPECT_EQ(measured(tunable(changed(fast, "body >= N", "body >= N - 1"), target, dims)).status,
            Status::wrong);
}

TEST(UserKernelTest, ExamplesCompileForCuda) {
  if (std::string missing = backends::backend_for(sched::Api::cuda).compiler_missing();
      !missing.empty())
    GTEST_SKIP() << missing;
  for (const char* name : {"matmul", "nbody", "nbody_direct"}) {
    const Tunable kernel = tunable(example(name), cuda());
    EXPECT_FALSE(kernel.compile(kernel.default_config).launches.front().kernel.code.empty())
        << name;
    const ConfigList configs(kernel.space);
    for (size_t i = 0; i < configs.size(); i += configs.size() / 4)
      EXPECT_FALSE(kernel.compile(configs.at(i)).launches.front().kernel.code.empty())
          << name << " " << i;
  }
}

TEST(UserKernelTest, TheFilesWorkgroupMustBeTheModules) {
  if (std::string missing = backends::backend_for(sched::Api::vulkan).compiler_missing();
      !missing.empty())
    GTEST_SKIP() << missing;
  UserKernel kernel = example("nbody_direct");
  const sched::Target target = sched::target_by_name("vulkan");
  const Tunable good = tunable(kernel, target);
  EXPECT_EQ(local_size(good.compile(good.default_config).launches.front().kernel.code),
            (std::array<uint32_t, 3>{64, 1, 1}));
  kernel.launch.workgroup[1] = Expression(2);
  const Tunable wrong = tunable(kernel, target);
  EXPECT_ERROR(
      wrong.compile(wrong.default_config),
      "launch.workgroup is [64, 2, 1], but nbody_direct.comp has a local size of [64, 1, 1]");
}

std::vector<uint8_t> module_of(std::vector<uint32_t> words) {
  const std::vector<uint32_t> header = {0x07230203, 0x10500, 0, 100, 0};
  words.insert(words.begin(), header.begin(), header.end());
  return backends::spirv_bytes(words);
}

TEST(LocalSizeTest, IsReadFromEveryFormThatModulesHave) {
  using Extents = std::array<uint32_t, 3>;
  using Words = std::vector<uint32_t>;
  const auto op = [](uint32_t code, Words operands) {
    operands.insert(operands.begin(), static_cast<uint32_t>(operands.size() + 1) << 16 | code);
    return operands;
  };
  const auto join = [](std::initializer_list<Words> parts) {
    Words all;
    for (const Words& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  };
  const Words entry = op(15, {5, 1, 0x6e69616d, 0}), literal = op(16, {1, 17, 8, 4, 2}),
              ids = op(331, {1, 38, 11, 12, 11}),
              constants = join({op(43, {10, 11, 64}), op(50, {10, 12, 3})}),
              decoration = op(71, {20, 11, 25}), composite = op(51, {21, 20, 12, 12, 11});
  EXPECT_EQ(local_size(module_of(join({entry, literal}))), (Extents{8, 4, 2}));
  EXPECT_EQ(local_size(module_of(join({entry, ids, constants}))), (Extents{64, 3, 64}));
  const Words all = join({entry, literal, decoration, constants, composite});
  EXPECT_EQ(local_size(module_of(all)), (Extents{3, 3, 64})) << "the constant comes before a mode";
  const char* const none = "its workgroup has no constant size";
  EXPECT_ERROR_KIND(local_size(module_of({})), ErrorKind::device, none);
  EXPECT_ERROR_KIND(local_size(module_of(literal)), ErrorKind::device, none);
  EXPECT_ERROR_KIND(local_size(module_of(join({entry, ids}))), ErrorKind::device, none);
  EXPECT_ERROR_KIND(local_size(module_of(join({entry, literal, decoration}))), ErrorKind::device,
                    none);
  EXPECT_ERROR_KIND(local_size(module_of(join({op(54, {1, 2, 3, 4}), entry, literal}))),
                    ErrorKind::device, none);
  EXPECT_ERROR_KIND(local_size(module_of({15})), ErrorKind::device, "does not fit in it");
  EXPECT_ERROR_KIND(local_size({}), ErrorKind::device, "not a SPIR-V module");
  // A module that ends anywhere is read or refused; so is one with short instructions.
  for (size_t size = 0; size < all.size(); ++size) try {
      local_size(module_of(Words(all.begin(), all.begin() + static_cast<long>(size))));
    } catch (const Error& error) { EXPECT_EQ(error.kind(), ErrorKind::device) << error.what(); }
  for (uint32_t code : {15, 16, 43, 44, 50, 51, 71, 331})
    EXPECT_ERROR_KIND(local_size(module_of(op(code, {1}))), ErrorKind::device, none);
}

TEST(UserKernelTest, MessagesOfTheCompilerNameTheSourcesLines) {
  if (std::string missing = backends::backend_for(sched::Api::vulkan).compiler_missing();
      !missing.empty())
    GTEST_SKIP() << missing;
  UserKernel kernel = example("nbody_direct");
  kernel.sources.at(sched::Api::vulkan).text =
      "// a comment\n#version 450\nlayout(local_size_x = THREADS) in;\nvoid main() { oops(); }\n";
  const Tunable broken = tunable(kernel, sched::target_by_name("vulkan"));
  EXPECT_ERROR_KIND(broken.compile(broken.default_config), ErrorKind::device, ":4: ");
  kernel.sources.at(sched::Api::vulkan).text = "void main() {}\n";
  const Tunable unversioned = tunable(kernel, sched::target_by_name("vulkan"));
  EXPECT_ERROR(unversioned.compile(unversioned.default_config), "has no #version line");
}

// ggml's shader is not in the tree: the file that describes it is, and docs show a part of it.
TEST(UserKernelTest, TheDescriptionOfGgmlsProductIsLegal) {
  namespace fs = std::filesystem;
  const fs::path from = testing::source_dir() / "examples/kernels/ggml";
  const backends::TemporaryFolder folder;
  for (const char* name : {"mul_mm.yaml", "mul_mm_graph.yaml"})
    fs::copy_file(from / name, folder.path() / name);
  write_file_atomic(folder.path() / "mul_mm.comp", "#version 450\nvoid main() {}\n");
  const UserKernel kernel = load_user_kernel(folder.path() / "mul_mm.yaml");
  const sched::ConfigSpace space =
      BoundKernel(kernel, {}, sched::target_by_name("vulkan:nvidia-rtx")).space();
  EXPECT_EQ(space.violation(kernel.default_config), "");
  EXPECT_EQ(space.violation(
                with(kernel.default_config, {{"BN", 64}, {"WN", 32}, {"TN", 8}, {"PAD", 12}})),
            "")
      << "what docs say is the fastest";
  const std::string docs = read_file(testing::source_dir() / "docs/tuning-your-own-kernels.md"),
                    file = read_file(from / "mul_mm.yaml");
  size_t found = 0;
  for (const char* key :
       {"push_constants: [M, N, K, K,", "constants: {0: BLOCK_SIZE, 1: BM, 2:", "{COOPMAT: 1,"}) {
    const size_t at = docs.find(key);
    ASSERT_NE(at, std::string::npos) << key;
    const std::string line = docs.substr(at, docs.find('\n', at) - at);
    found += file.find(line) != std::string::npos;
  }
  EXPECT_EQ(found, 3u);
}

}  // namespace
}  // namespace tcc::autotune
