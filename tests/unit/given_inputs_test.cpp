// Tests what the tools take of --input and --inputs: files and numbers, for inputs that there are.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "frontend/graph_file.h"
#include "frontend/npy.h"
#include "frontend/npz.h"
#include "support/error.h"
#include "tests/expect_error.h"
#include "tools/run_sizes.h"
#include "tools/tensors.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;

ir::Graph graph() {
  return parse_yaml_graph(R"(
tcc: 1
inputs:
  x: {dtype: f32, shape: [2, 3]}
  sr: {dtype: i64, shape: []}
  one: {dtype: f16, shape: [1, 1]}
  sizes: {dtype: i32, shape: [4]}
nodes:
  - {out: y, op: relu, in: [x]}
outputs: [y, sr, one, sizes]
)",
                          "g.yaml", ".")
      .bind({});
}

std::vector<Tensor> loaded(std::vector<std::string> named, std::string npz = "") {
  return load_inputs("test", graph(), InputFiles({std::move(named), std::move(npz), {}}));
}

TEST(GivenInputs, NumbersBecomeWhatTheInputIs) {
  const auto inputs = loaded({"sr=16000", "one=0.5", "sizes=1,3,224,224"});
  EXPECT_EQ(inputs[1].get_int(0), 16000);
  EXPECT_EQ(inputs[1].shape(), std::vector<int64_t>{});
  EXPECT_EQ(inputs[2].dtype(), DType::f16);
  EXPECT_EQ(inputs[2].shape(), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(inputs[2].get(0), 0.5);
  EXPECT_EQ(inputs[3].dtype(), DType::i32);
  EXPECT_EQ(inputs[3].get_int(3), 224);
  EXPECT_EQ(loaded({"one=-inf"})[2].get(0), -INFINITY);
  EXPECT_EQ(loaded({"one=3"})[2].get(0), 3);
  EXPECT_EQ(loaded({"sr=-9223372036854775808"})[1].get_int(0), INT64_MIN);
}

TEST(GivenInputs, NumbersThatDoNotFitAreRefused) {
  EXPECT_ERROR(loaded({"sr=0.5"}), "--input sr: 0.5 is no integer");
  EXPECT_ERROR(loaded({"sizes=0,7.5,9,40"}), "--input sizes: 7.5 is no integer");
  EXPECT_ERROR(loaded({"sizes=1,2,3,4294967296"}), "4294967296 is no i32");
  EXPECT_ERROR(loaded({"sizes=1,2"}), "--input sizes=1,2 has shape [2], but input 'sizes' is [4]");
  EXPECT_ERROR(loaded({"x=1"}), "has shape [], but input 'x' is [2, 3]");
  EXPECT_ERROR(loaded({"sr=1 "}), "unknown kind of tensor file");
  EXPECT_ERROR(loaded({"sr="}), "unknown kind of tensor file");
  EXPECT_ERROR(loaded({"sr=1,"}), "unknown kind of tensor file");
  EXPECT_ERROR(loaded({"sr=99999999999999999999"}), "99999999999999999999 is no integer");
}

std::vector<int64_t> integers(const Tensor& tensor) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < tensor.numel(); ++i) numbers.push_back(tensor.get_int(i));
  return numbers;
}

TEST(DrawnInputs, AreWhatOpsExpectOfThem) {
  const ir::Graph graph = parse_yaml_graph(R"(
tcc: 1
inputs:
  q: {dtype: f32, shape: [40, 4, 8]}
  k: {dtype: f32, shape: [900, 2, 8]}
  starts: {dtype: i64, shape: [5]}
  key_starts: {dtype: i32, shape: [5]}
  r: {dtype: f32, shape: [6, 4, 3, 8]}
  pages: {dtype: f32, shape: [100, 16, 2, 8]}
  table: {dtype: i32, shape: [6, 20]}
  lengths: {dtype: i32, shape: [6]}
  few: {dtype: i32, shape: [6], range: [2, 3]}
nodes:
  - {out: narrow, op: to, in: starts, dtype: i32}
  - {out: a, op: packed_attention, in: [q, k, k, narrow, key_starts]}
  - {out: b, op: paged_attention, in: [r, pages, pages, table, lengths]}
  - {out: c, op: paged_attention, in: [r, pages, pages, table, few]}
outputs: [a, b, c]
)",
                                           "g.yaml", ".")
                              .bind({});
  const auto inputs = load_inputs("test", graph, InputFiles({}));
  for (const auto& [index, most] : {std::pair(2, 40), std::pair(3, 900)}) {
    const std::vector<int64_t> starts = integers(inputs[static_cast<size_t>(index)]);
    EXPECT_TRUE(std::ranges::is_sorted(starts));
    EXPECT_EQ(starts.front(), 0);
    EXPECT_EQ(starts.back(), most);
  }
  const std::vector<int64_t> table = integers(inputs[6]), lengths = integers(inputs[7]);
  EXPECT_GE(std::ranges::min(table), 0);
  EXPECT_GT(std::ranges::max(table), 50);
  EXPECT_LT(std::ranges::max(table), 100);
  EXPECT_GE(std::ranges::min(lengths), 1);
  EXPECT_GT(std::ranges::max(lengths), 100);
  EXPECT_LE(std::ranges::max(lengths), 320);
  EXPECT_EQ(integers(inputs[8]), std::vector<int64_t>(6, 2));
}

class NpzOfInputs : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = fs::temp_directory_path() / ("tcc-inputs-" + std::to_string(getpid()) + ".npz");
  }
  void TearDown() override { fs::remove(file_); }
  std::string with(const std::vector<std::string>& names) const {
    Tensor tensor(DType::f32, {2, 3});
    tensor.set(4, 7);
    std::vector<std::pair<std::string, const Tensor*>> named;
    for (const std::string& name : names) named.emplace_back(name, &tensor);
    write_npz(file_, named);
    return file_.string();
  }
  fs::path file_;
};

TEST_F(NpzOfInputs, KeysThatNameNoInputAreRefused) {
  EXPECT_EQ(loaded({}, with({"x"}))[0].get(4), 7);
  EXPECT_ERROR(loaded({}, with({"x", "sizess"})),
               "'sizess' is no input of the graph; did you mean 'sizes'?");
  EXPECT_ERROR(loaded({}, with({"waveform"})),
               "'waveform' is no input of the graph; there are x, sr, one, sizes");
}

TEST_F(NpzOfInputs, WhatIsDrawnIsSaidWhereSomethingIsGiven) {
  const auto said = [&](std::vector<std::string> named, std::string npz) {
    const InputFiles files({std::move(named), std::move(npz), {}});
    ::testing::internal::CaptureStderr();
    say_drawn_inputs("tcc-test", graph(), files);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said({}, ""), "");
  EXPECT_EQ(said({"sr=1"}, with({"x"})),
            "tcc-test: note: drawn at random, since nothing is given of them: 'one', 'sizes'\n");
  EXPECT_EQ(said({"sr=1", "one=1", "sizes=1,2,3,4"}, with({"x"})), "");
}

// A narrower float is another value; a wider one is the same, and says nothing.
TEST_F(NpzOfInputs, ValuesThatAreRoundedAreSaid) {
  const auto said = [&](DType given) {
    write_npy(file_, Tensor(given, {2, 3}));
    const fs::path as_npy = file_.string() + "." + std::string(name(given)) + ".npy";
    fs::rename(file_, as_npy);
    ::testing::internal::CaptureStderr();
    const auto inputs = loaded({"x=" + as_npy.string()});
    fs::remove(as_npy);
    EXPECT_EQ(inputs[0].dtype(), DType::f32);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said(DType::f16), "");
  EXPECT_TRUE(
      said(DType::f64).ends_with(".npy is f64, and input 'x' f32: its values are rounded\n"));
}

TEST(RunSizes, ShapesOfGivenInputsDecideThem) {
  const ir::SymInt b = ir::SymInt::symbol("B"), s = ir::SymInt::symbol("S_by_8");
  const std::vector<RunInput> inputs = {{"x", {b, s * 8 + 1}}, {"y", {b * 2, 3}}, {"z", {b * s}}};
  const std::vector<RunDim> dims = {{"B", "B", 1, {1, 8, 1}}, {"S", "S_by_8", 8, {8, 64, 8}}};
  const auto sizes = [&](std::vector<std::string> named, RunSizes known = {}) {
    add_sizes_of_inputs(inputs, dims, InputFiles({std::move(named), "", {}}), known);
    std::string text;
    for (const auto& [name, size] : known) text += str(name, "=", size.size, " ");
    return text;
  };
  const fs::path file = fs::temp_directory_path() / str("tcc-sizes-", getpid(), ".npy");
  const auto of = [&](std::vector<int64_t> shape) {
    write_npy(file, Tensor(DType::f32, std::move(shape)));
    return "=" + file.string();
  };
  EXPECT_EQ(sizes({}), "");
  EXPECT_EQ(sizes({"x" + of({3, 17})}), "B=3 S=16 ");
  EXPECT_EQ(sizes({"y" + of({6, 3})}), "B=3 ");
  EXPECT_EQ(sizes({"x" + of({3, 17})}, {{"B", {3, "--at"}}}), "B=3 S=16 ");
  EXPECT_ERROR(sizes({"y" + of({5, 3})}), "dim 0 of input 'y' is 5, which B*2 is for no B = 1..8");
  EXPECT_ERROR(sizes({"x" + of({3, 18})}),
               "dim 1 of input 'x' is 18, which S+1 is for no S = 8..64:8");
  EXPECT_ERROR(sizes({"x" + of({3, 0})}), "which S+1 is for no S = 8..64:8");
  // Left to load_inputs(): another rank, a number for an input of one element.
  EXPECT_EQ(sizes({"x" + of({3})}), "");
  EXPECT_EQ(sizes({"x=1"}), "");
  EXPECT_EQ(sizes({"z" + of({12})}), "") << "a product tells neither";
  EXPECT_EQ(sizes({"z" + of({12})}, {{"B", {3, "--at"}}}), "B=3 S=32 ") << "the other";
  EXPECT_ERROR(sizes({"z" + of({12})}, {{"B", {3, "--at"}}, {"S", {16, "s.npy"}}}),
               "dim 0 of input 'z' is 12, not 6: ");
  EXPECT_ERROR(sizes({"x" + of({9, 17})}),
               ": dim 0 of input 'x' is 9: B = 9 is above 8 (B = 1..8)");
  EXPECT_ERROR(sizes({"x" + of({3, 1})}), "S = 0 is below 8 (S = 8..64:8)");
  EXPECT_ERROR(sizes({"x" + of({3, 17})}, {{"B", {2, "--at"}}}),
               "dim 0 of input 'x' is 3: B = 3, but B = 2 by --at");
  const std::string three = "x" + of({3, 17});
  const fs::path other = file.string() + ".npy";
  write_npy(other, Tensor(DType::f32, {8, 3}));
  EXPECT_ERROR(sizes({three, "y=" + other.string()}),
               str("dim 0 of input 'y' is 8: B = 4, but B = 3 by ", file.string()));
  fs::remove(file);
  fs::remove(other);
}

TEST(RunSizes, AtTakesNumbers) {
  using Runs = std::vector<ir::Numbers>;
  EXPECT_EQ(parse_at({}), Runs({{}}));
  EXPECT_EQ(parse_at({"B=5", "S=0"}), Runs({{{"B", 5}, {"S", 0}}}));
  const std::string must = ": must be NAME=NUMBER or NAME=NUMBER,NUMBER,...";
  for (const char* text : {"B=x", "B", "B=", "B=1..4", "B=free", "B=-1", "B=1,", "=1"})
    EXPECT_ERROR(parse_at({text}), str("--at ", text, must));
  EXPECT_ERROR(parse_at({"B=99999999999999999999"}), "is too large");
}

TEST(RunSizes, SeveralAreARunEach) {
  using Runs = std::vector<ir::Numbers>;
  EXPECT_EQ(parse_at({"S=128,512"}), Runs({{{"S", 128}}, {{"S", 512}}}));
  EXPECT_EQ(parse_at({"S=128", "S=512"}), parse_at({"S=128,512"}));
  EXPECT_EQ(parse_at({"S=8,4", "B=1,2"}), Runs({{{"S", 8}, {"B", 1}},
                                                {{"S", 8}, {"B", 2}},
                                                {{"S", 4}, {"B", 1}},
                                                {{"S", 4}, {"B", 2}}}));
  EXPECT_ERROR(parse_at({"B=1,1"}), "--at B=1,1: 1 is given twice");
  EXPECT_ERROR(parse_at({"B=1", "B=2,1"}), "--at B=2,1: 1 is given twice");
  std::string many = "=0";
  for (int i = 1; i < 100; ++i) many += str(",", i);
  EXPECT_EQ(parse_at({"A" + many}).size(), 100u);
  EXPECT_ERROR(parse_at({"A" + many, "B" + many}), "more than 4096 combinations");
}

TEST(GivenInputs, TensorsOfNaNOrZeroAreKnown) {
  Tensor tensor(DType::f32, {3});
  EXPECT_EQ(emptiness_of(tensor), "zero");
  tensor.set(1, NAN);
  EXPECT_EQ(emptiness_of(tensor), "");
  tensor.set(0, NAN);
  tensor.set(2, NAN);
  EXPECT_EQ(emptiness_of(tensor), "NaN");
  EXPECT_EQ(emptiness_of(Tensor(DType::f32, {0})), "");
  EXPECT_EQ(emptiness_of(Tensor(DType::f32, {})), "");
  EXPECT_EQ(emptiness_of(Tensor(DType::i32, {3})), "");
}

}  // namespace
}  // namespace tcc::tools
