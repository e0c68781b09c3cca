// Tests what the tools take of --input and --inputs: files and numbers, for inputs that there are.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>

#include "frontend/graph_file.h"
#include "frontend/npz.h"
#include "tests/expect_error.h"
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
  return load_inputs(graph(), InputFiles({std::move(named), std::move(npz), {}}));
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
  EXPECT_ERROR(loaded({"sizes=1,2,3,4294967296"}), "4294967296 is no i32");
  EXPECT_ERROR(loaded({"sizes=1,2"}), "--input sizes=1,2 has shape [2], but input 'sizes' is [4]");
  EXPECT_ERROR(loaded({"x=1"}), "has shape [], but input 'x' is [2, 3]");
  EXPECT_ERROR(loaded({"sr=1 "}), "unknown kind of tensor file");
  EXPECT_ERROR(loaded({"sr="}), "unknown kind of tensor file");
  EXPECT_ERROR(loaded({"sr=1,"}), "unknown kind of tensor file");
  EXPECT_ERROR(loaded({"sr=99999999999999999999"}), "is no integer");
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
