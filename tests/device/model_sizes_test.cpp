// The five models, smaller, each compiled once for ranges of sizes: at drawn sizes they give what
// the program compiled for that size gives. Runs compile nothing: the runtime has no compiler.
//
//   TCC_SIZES_COUNT=200 TCC_SIZES_WHOLE=1 test_device --gtest_filter='*ModelSizes*'
//
// draws 200 sizes for each of the whole models, of up to 64 images and lines of up to 512.
// TCC_SIZES_FIRST=100 leaves out the first hundred, so that several processes share the work.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <sstream>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "frontend/random_init.h"
#include "runtime/program.h"
#include "support/error.h"
#include "tests/device/conformance.h"
#include "tests/fuzz/check_graph.h"
#include "tests/source_dir.h"

namespace tcc::runtime {
namespace {

struct SmallModel {
  const char* file;
  // Texts of the file and what stands for them: fewer layers, channels and pixels.
  std::vector<std::pair<std::string, std::string>> smaller;
  ir::SizeRanges dims, of_whole;
  bool may_be_refused = false;  // no template takes all of its open dims on every device
  // Each draws another size, for which the fixed program is compiled: seconds on a software device.
  int draws = 20;
};

// 1, primes, powers of two and their neighbours.
constexpr int64_t kSizes[] = {1,   2,   3,   4,   5,   7,   8,   9,   13,  15, 16,
                              17,  23,  31,  32,  33,  37,  61,  63,  64,  65, 97,
                              127, 128, 129, 251, 255, 256, 257, 509, 511, 512};

bool is_whole() { return std::getenv("TCC_SIZES_WHOLE") != nullptr; }

class ModelSizesTest : public DeviceTest {
 protected:
  ir::Graph load(const SmallModel& model) const {
    std::ifstream file(testing::source_dir() / "configs/models" / model.file);
    std::stringstream all;
    all << file.rdbuf();
    std::string text = all.str();
    if (is_whole()) return parse_yaml_graph(text, model.file, ".");
    for (const auto& [from, to] : model.smaller) {
      EXPECT_NE(text.find(from), std::string::npos) << model.file << ": " << from;
      for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
    }
    return parse_yaml_graph(text, model.file, ".");
  }

  std::shared_ptr<const Program> compile(const ir::Graph& graph, const ir::SizeRanges& open,
                                         const exec::Dims& dims) const {
    backends::CompileOptions options;
    options.open_dims = open;
    options.dims = dims;
    return std::make_shared<const Program>(device,
                                           backends::compile(graph, device->target(), options));
  }

  static void expect_same(const Tensor& got, const Tensor& wanted, const std::string& where) {
    const double kRounding = is_whole() ? 1e-3 : 1e-4;  // of the largest element, after all layers
    ASSERT_EQ(got.shape(), wanted.shape()) << where;
    double most = 1e-3, worst = 0;
    for (int64_t i = 0; i < got.numel(); ++i) {
      most = std::max(most, std::abs(wanted.get(i)));
      const double difference = std::abs(got.get(i) - wanted.get(i));
      ASSERT_TRUE(std::isfinite(difference)) << where << ", element " << i;
      worst = std::max(worst, difference);
    }
    EXPECT_LE(worst, kRounding * most) << where;
  }

  void check(const SmallModel& model) const {
    const ir::Graph graph = load(model);
    const ir::SizeRanges& ranges = is_whole() ? model.of_whole : model.dims;
    const auto draws = static_cast<int>(test::draws("TCC_SIZES_COUNT", model.draws));
    std::shared_ptr<const Program> program;
    try {
      program = compile(graph, ranges, {});
    } catch (const Error& error) {
      if (!model.may_be_refused || error.kind() != ErrorKind::bad_input) throw;
      GTEST_SKIP() << error.what();
    }
    const auto first = static_cast<int>(test::number_from("TCC_SIZES_FIRST", 0));
    ASSERT_LT(first, draws);
    ASSERT_EQ(program->executable().dims.size(), ranges.size());
    Context context(program);
    std::mt19937 draw(11);
    std::map<exec::Dims, std::shared_ptr<const Program>> fixed;
    for (int i = 0; i < draws; ++i) {
      exec::Dims dims;
      std::string where = model.file;
      for (const auto& [name, range] : ranges) {
        std::vector<int64_t> legal;
        for (const int64_t size : kSizes)
          if (range.why_not(size).empty()) legal.push_back(size);
        dims[name] = legal[draw() % legal.size()];
        where += str(" ", name, "=", dims[name]);
      }
      if (i < first) continue;
      const ir::Graph bound = graph.bind(dims);
      std::vector<Tensor> inputs;
      for (const ir::Value* input : bound.inputs)
        inputs.push_back(
            random_tensor(input->dtype(), ir::const_shape(*input),
                          is_float(input->dtype()) ? Init::uniform(-1, 1) : Init::integers(0, 2),
                          stream_seed(static_cast<uint64_t>(i), input->name)));
      const std::vector<Tensor> results = context.run(inputs);
      if (!runs_kernels()) continue;
      auto& one = fixed[dims];
      if (!one) one = compile(graph, {}, dims);
      const std::vector<Tensor> wanted = Context(one).run(inputs);
      ASSERT_EQ(results.size(), wanted.size());
      for (size_t k = 0; k < results.size(); ++k) expect_same(results[k], wanted[k], where);
      if (fixed.size() > 32) fixed.clear();  // each has the weights
      if (is_whole() && (i + 1) % 10 == 0)
        std::cerr << model.file << ": " << i + 1 << " of " << draws << " sizes\n";
    }
    RecordProperty("draws", draws);
  }
};
TCC_ON_EVERY_DEVICE(ModelSizesTest);

const std::pair<std::string, std::string> kHeads = {"12, 64]", "4, 12]"}, kWide = {"3072", "96"},
                                          kHidden = {"768", "48"},
                                          kLayers = {"repeat: 12", "repeat: 2"};

TEST_P(ModelSizesTest, Mlp) {
  check({"mlp.yaml", {{"784", "84"}, {"512", "72"}}, {{"B", {1, 128, 1}}}, {{"B", {1, 512, 1}}}});
}

TEST_P(ModelSizesTest, TransformerEncoderLayer) {
  check({"transformer-encoder-layer.yaml",
         {kHeads, kWide, kHidden},
         {{"B", {1, 5, 1}}, {"S", {1, 128, 1}}},
         {{"B", {1, 64, 1}}, {"S", {1, 512, 1}}},
         true,
         4});
}

TEST_P(ModelSizesTest, TransformerEncoderLayerOfMultiples) {
  check({"transformer-encoder-layer.yaml",
         {kHeads, kWide, kHidden},
         {{"B", {1, 5, 1}}, {"S", {8, 128, 8}}},
         {{"B", {1, 64, 1}}, {"S", {8, 512, 8}}},
         true,
         4});
}

TEST_P(ModelSizesTest, BertBase) {
  check({"bert-base.yaml",
         {kHeads, kWide, kHidden, {"30522", "97"}, kLayers},
         {{"B", {1, 4, 1}}, {"S", {1, 64, 1}}},
         {{"B", {1, 64, 1}}, {"S", {1, 512, 1}}},
         true,
         4});
}

TEST_P(ModelSizesTest, VitB16) {
  check({"vit-b16.yaml",
         {kHeads, kWide, kHidden, {"224, 224", "48, 48"}, {"197", "10"}, {"1000", "24"}, kLayers},
         {{"B", {1, 9, 1}}},
         {{"B", {1, 64, 1}}},
         true,
         4});
}

// The first two of four stages.
TEST_P(ModelSizesTest, Resnet50) {
  check({"resnet50.yaml",
         {{"224, 224", "32, 32"},
          {"in: [stage4], output_size", "in: [stage2], output_size"},
          {"[1000, 2048]", "[1000, 512]"}},
         {{"B", {1, 4, 1}}},
         {{"B", {1, 64, 1}}}});
}

}  // namespace
}  // namespace tcc::runtime
