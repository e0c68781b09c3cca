// Conformance: packages that are written, opened on a device and run.
#include "runtime/package.h"

#include <map>
#include <set>

#include "backends/compile/process.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/program.h"
#include "support/error.h"
#include "tests/device/conformance.h"
#include "tests/expect_error.h"
#include "tests/source_dir.h"

namespace tcc::runtime {
namespace {

constexpr const char* kLayer =
    "tcc: 1\nname: layer\n"
    "inputs: {x: {dtype: f32, shape: [3, 24]}}\n"
    "weights: {w: {dtype: f32, shape: [40, 24], init: {normal: 1}},\n"
    "  b: {dtype: f32, shape: [40], init: {normal: 1}}}\n"
    "nodes:\n"
    "  - {out: y, op: linear, in: [x, w, b]}\n"
    "  - {out: z, op: softmax, in: [y], dim: -1}\n"
    "outputs: [z]\n";

class PackageTest : public DeviceTest {
 protected:
  exec::Executable compiled() {
    return backends::compile(parse_yaml_graph(kLayer, "graph.yaml", "."), device->target(), {});
  }
  // A part for another API than the device's, that nothing reads.
  exec::Executable foreign() {
    exec::Executable part = compiled();
    part.target.api = device->target().api == exec::Api::null ? exec::Api::cuda : exec::Api::null;
    part.target.arch = "elsewhere";
    return part;
  }
  exec::Package written(std::vector<exec::Executable> parts) {
    const exec::PackageContents contents = {"layer", std::move(parts), {}};
    exec::save_package(contents, file());
    return exec::Package::load(file());
  }
  std::filesystem::path file() const { return folder_.path() / "layer.tccpkg"; }
  backends::TemporaryFolder folder_;
};
TCC_ON_EVERY_DEVICE(PackageTest);

TEST_P(PackageTest, RunsAsWhatWasCompiled) {
  const exec::Package package = written({foreign(), compiled()});
  ChosenPart chosen = choose_part(package, *device);
  EXPECT_EQ(chosen.part, 1u);
  Tensor x(DType::f32, {3, 24});
  for (int64_t i = 0; i < x.numel(); ++i) x.set(i, 0.125 * static_cast<double>(i % 9));
  Context direct(std::make_shared<const Program>(device, compiled()));
  const int64_t before = device->allocated_bytes();
  const auto program = std::make_shared<const Program>(device, std::move(chosen.executable));
  EXPECT_EQ(device->allocated_bytes(), before) << "the weights are those of the program before";
  Context packaged(program);
  const Tensor expected = direct.run({&x, 1}).at(0), got = packaged.run({&x, 1}).at(0);
  for (int64_t i = 0; i < expected.numel() && runs_kernels(); ++i)
    EXPECT_EQ(got.get(i), expected.get(i)) << i;
}

TEST_P(PackageTest, TheBestOfThoseThatFitIsTaken) {
  exec::Executable similar = compiled();
  if (similar.target.api == exec::Api::cuda) {
    similar.target.arch = "compute_70";  // the kernels are those of the device all the same
  } else {
    similar.target.arch = "similar";
  }
  EXPECT_EQ(choose_part(written({similar, compiled()}), *device).part, 1u);
  EXPECT_EQ(choose_part(written({compiled(), similar}), *device).part, 0u);
  EXPECT_EQ(choose_part(written({similar}), *device).part, 0u) << "its target has another name";
  if (!runs_kernels()) return;
  // A part that does not fit is not taken, however near it is.
  exec::Executable large = compiled();
  large.kernels.at(0).workgroup = 1 << 16;
  EXPECT_EQ(choose_part(written({large, similar}), *device).part, 1u);
}

TEST_P(PackageTest, SaysWhyNothingRuns) {
  const exec::Package package = written({foreign()});
  EXPECT_ERROR_KIND(choose_part(package, *device), ErrorKind::device,
                    str(package.file(), ": no part of it runs on ", device->name(), " (",
                        device->target().id(), "); ", package.parts()[0].target, ": it is for "));
  if (!runs_kernels()) return;
  exec::Executable large = compiled();
  large.kernels.at(0).workgroup = 1 << 16;
  EXPECT_ERROR_KIND(choose_part(written({large}), *device), ErrorKind::device,
                    "a workgroup of 65536; the device allows");
  exec::Executable damaged = compiled();
  damaged.kernels.at(0).code = {1, 2, 3};
  EXPECT_ERROR_KIND(choose_part(written({damaged}), *device), ErrorKind::device, "");
}

// y[i, j] = 2 x[i, j] + w[j], with w = 1, 2, 3, 4.
void expect_affine(Context& context) {
  Tensor x(DType::f32, {2, 4});
  for (int64_t i = 0; i < x.numel(); ++i) x.set(i, static_cast<double>(i));
  const Tensor y = context.run({&x, 1}).at(0);
  ASSERT_EQ(y.shape(), (std::vector<int64_t>{2, 4}));
  for (int64_t i = 0; i < y.numel(); ++i)
    EXPECT_EQ(y.get(i), static_cast<double>(2 * i + i % 4 + 1)) << i;
}

// Run r gives one more row, of the sums of the columns of its x, times w. All sums are exact.
void expect_sums(Context& context) {
  std::set<std::vector<int>> kernels;
  std::vector<double> expected;
  for (const int64_t rows : {1, 2, 3, 5, 16, 17, 31, 33, 63, 64}) {
    Tensor x(DType::f32, {rows, 4});
    std::vector<double> sums(4);
    for (int64_t i = 0; i < x.numel(); ++i) {
      const auto value = static_cast<double>((7 * i + rows) % 11 - 4);
      x.set(i, value);
      sums[static_cast<size_t>(i % 4)] += value;
    }
    for (size_t j = 0; j < 4; ++j) expected.push_back(sums[j] * static_cast<double>(j + 1));
    const Tensor y = context.run({&x, 1}).at(0);
    ASSERT_EQ(y.shape(), (std::vector<int64_t>{std::ssize(expected) / 4, 4}));
    for (int64_t i = 0; i < y.numel(); ++i)
      EXPECT_EQ(y.get(i), expected[static_cast<size_t>(i)]) << rows << " rows, at " << i;
    kernels.insert(context.step_counts());
  }
  EXPECT_GT(kernels.size(), 1u) << "the sizes choose from several kernels";
  // A state of three rows goes on from there.
  Tensor past(DType::f32, {3, 4});
  for (int64_t i = 0; i < past.numel(); ++i) past.set(i, static_cast<double>(100 + i));
  context.set_state(0, past);
  const Tensor zeros(DType::f32, {9, 4});
  const Tensor y = context.run({&zeros, 1}).at(0);
  ASSERT_EQ(y.shape(), (std::vector<int64_t>{4, 4}));
  for (int64_t i = 0; i < y.numel(); ++i) EXPECT_EQ(y.get(i), i < 12 ? 100.0 + i : 0.0) << i;
}

// The places of what is not 0, and the sums of their rows.
void expect_counts(Context& context) {
  for (const int64_t rows : {1, 7, 16, 2}) {
    Tensor x(DType::i32, {rows, 20});
    std::vector<int64_t> places, running;
    for (int64_t i = 0; i < x.numel(); ++i) {
      if ((7 * i + rows) % 5 > 1) continue;
      x.set(i, 3);
      places.insert(places.end(), {i / 20, i % 20});
      running.push_back((running.empty() ? 0 : running.back()) + i / 20);
    }
    const std::vector<Tensor> results = context.run({&x, 1});
    ASSERT_EQ(results[0].shape(), (std::vector<int64_t>{std::ssize(running), 2}));
    for (int64_t i = 0; i < std::ssize(places); ++i)
      EXPECT_EQ(results[0].get_int(i), places[static_cast<size_t>(i)]) << i;
    for (int64_t i = 0; i < std::ssize(running); ++i)
      EXPECT_EQ(results[1].get_int(i), running[static_cast<size_t>(i)]) << i;
  }
}

// Packages of every version that was released stay readable (docs/packages.md): tests/data/packages
// has them.
TEST_P(PackageTest, PackagesOfEveryVersionRun) {
  const std::map<std::string, void (*)(Context&), std::less<>> checks = {
      {"affine-1", expect_affine},
      {"counts-17", expect_counts},
      {"sums-12", expect_sums},
      {"sums-13", expect_sums},
      {"sums-14", expect_sums}};
  std::set<std::string> found;
  for (const auto& entry :
       std::filesystem::directory_iterator(testing::source_dir() / "tests/data/packages")) {
    if (entry.path().extension() != exec::kPackageExtension) continue;
    const std::string name = entry.path().stem().string();
    SCOPED_TRACE(name);
    found.insert(name);
    ASSERT_TRUE(checks.contains(name)) << "nothing here says what it computes";
    const exec::Package package = exec::Package::load(entry.path());
    EXPECT_EQ(package.name(), name.substr(0, name.rfind('-')));
    EXPECT_NO_THROW(package.verify());
    for (size_t i = 0; i < package.parts().size(); ++i) EXPECT_NO_THROW(package.executable(i));
    // It has parts for every Vulkan device and for CUDA's from 8.0 on.
    if (!runs_kernels()) continue;
    Context context(
        std::make_shared<const Program>(device, choose_part(package, *device).executable));
    checks.at(name)(context);
  }
  EXPECT_EQ(found.size(), checks.size());
}

}  // namespace
}  // namespace tcc::runtime
