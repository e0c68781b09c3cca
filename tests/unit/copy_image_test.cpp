// Copies of images: where they are made, and that the graph with them computes the same.
#include "scheduler/copy_image.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "ir/passes/convert_precision.h"
#include "ir/verify.h"
#include "runtime/device.h"
#include "scheduler/alternatives.h"
#include "scheduler/target_profile.h"
#include "support/error.h"
#include "tests/same_values.h"

namespace tcc {
namespace {

class Always : public sched::PlanSource {
 public:
  explicit Always(int64_t choice) : choice_(choice) {}
  int64_t choose(const sched::PlanSite& site, const sched::Target&) const override {
    if (site.kind != "pad_images") return site.default_choice;
    asked.push_back(site);
    const auto& all = site.alternatives;
    return std::find(all.begin(), all.end(), choice_) != all.end() ? choice_ : site.default_choice;
  }
  mutable std::vector<sched::PlanSite> asked;

 private:
  int64_t choice_;
};

std::string conv(const std::string& image, const std::string& weight, const std::string& attrs) {
  return str("tcc: 1\nname: conv\ninputs: {x: {dtype: f16, shape: [", image,
             "]}, w: {dtype: f16, shape: [", weight,
             "]}}\nnodes:\n  - {out: y, op: convolution, in: [x, w]", attrs, "}\noutputs: [y]\n");
}

std::string nodes_of(const ir::Graph& graph) {
  std::string names;
  for (const auto& node : graph.nodes()) names += str(names.empty() ? "" : " ", node->op_name());
  return names;
}

TEST(CopyImage, WindowsOfPaddedRowsComputeTheSame) {
  const sched::Target target = sched::target_by_name("cuda:sm_80");
  const std::string cases[] = {
      conv("2, 3, 17, 19", "8, 3, 7, 7", ", stride: 2, padding: 3"),
      conv("1, 1, 9, 21", "5, 1, 3, 5", ", padding: [0, 1, 2, 0]"),
      conv("2, 4, 33", "8, 4, 5", ", stride: 3, padding: [-1, 4]"),
      conv("1, 2, 5, 6, 11", "4, 2, 2, 3, 3", ", stride: [1, 2, 4], dilation: [2, 1, 1]"),
      conv("2, 3, 12, 20", "8, 3, 1, 1", ", stride: 4"),
      conv("2, 3, 12, 31", "8, 3, 2, 2", ", stride: 2"),  // the last column is not read
  };
  for (const std::string& text : cases) {
    const ir::Graph given = parse_yaml_graph(text, "conv.yaml", ".").bind({});
    ir::Graph padded = given.clone();
    const Always source(2);
    sched::take_alternatives(padded, sched::AlternativeStage::final, target, {&source, target});
    ir::verify(padded);
    ASSERT_NE(nodes_of(padded).find("pad reshape identity windows"), std::string::npos)
        << text << nodes_of(padded);
    test::expect_same_values(given, padded,
                             test::draw_values(given, {.lo = -1, .hi = 1, .seed = 3}), text);
  }
}

// Rows stay single where no copy engine brings merged ones.
sched::Target target_of_choice(int64_t choice) {
  return sched::target_by_name(choice == 2 ? "cuda:sm_80" : "cuda:sm_90a");
}

// The graph where every convolution reads its image by `choice`.
ir::Graph copied_by(int64_t choice, const ir::Graph& given) {
  const sched::Target target = target_of_choice(choice);
  ir::Graph copied = given.clone();
  const Always source(choice);
  sched::take_alternatives(copied, sched::AlternativeStage::final, target, {&source, target});
  ir::verify(copied);
  return copied;
}

// The dims of the convolution's weight.
ir::Shape weight_of(const ir::Graph& graph) {
  for (const auto& node : graph.nodes())
    if (node->op_name() == "convolution") return node->inputs[1]->shape();
  return {};
}

TEST(CopyImage, WindowsOfMergedRowsComputeTheSame) {
  struct Case {
    std::string text;
    ir::Shape weight;
  };
  const Case cases[] = {
      // All rows of a window are neighbours: eight rows, one of them zeros, of three channels.
      {conv("2, 3, 17, 19", "8, 3, 7, 7", ", stride: 2, padding: 3"), {8, 168, 1, 1}},
      {conv("2, 3, 18, 20", "8, 3, 7, 7", ", stride: 2, padding: [0, 1, 2, 0]"), {8, 168, 1, 1}},
      {conv("1, 4, 21, 16", "4, 4, 5, 4", ", stride: [3, 2], padding: [-1, 2, 4, -2]"),
       {4, 128, 1, 1}},
      {conv("1, 2, 5, 19, 21", "4, 2, 2, 7, 7", ", stride: [1, 2, 2], dilation: [2, 1, 1]"),
       {4, 168, 2, 1, 1}},
      {conv("1, 3, 30, 27", "8, 3, 11, 11", ", stride: 4, padding: 2"), {8, 396, 1, 1}},
      {conv("2, 4, 33, 18", "8, 4, 6, 6", ", stride: [4, 2]"), {8, 192, 1, 1}},
      // Each row is in one merged row.
      {conv("2, 3, 19, 20", "8, 3, 8, 7", ", stride: 2, padding: 3"), {8, 56, 4, 1}},
      {conv("2, 3, 22, 17", "8, 3, 6, 5", ", stride: [3, 4], padding: [4, 3, 0, 1]"),
       {8, 60, 2, 1}},
  };
  for (const auto& [text, weight] : cases) {
    const ir::Graph given = parse_yaml_graph(text, "conv.yaml", ".").bind({}),
                    merged = copied_by(4, given);
    EXPECT_EQ(weight_of(merged), weight) << text;
    test::expect_same_values(given, merged,
                             test::draw_values(given, {.lo = -1, .hi = 1, .seed = 6}), text);
  }
}

TEST(CopyImage, PixelsOfWholeVectorsComputeTheSame) {
  struct Case {
    std::string text;
    int64_t channels;  // of the weight
  };
  const Case cases[] = {
      {conv("2, 33, 9, 7", "5, 33, 3, 3", ", padding: 1"), 40},
      {conv("1, 20, 12", "8, 20, 3", ", stride: 2, dilation: 2, padding: [1, 3]"), 24},
      {conv("1, 6, 4, 5, 6", "4, 6, 2, 2, 3", ""), 8},
  };
  for (const auto& [text, channels] : cases) {
    const ir::Graph given = parse_yaml_graph(text, "conv.yaml", ".").bind({});
    const sched::Target target = sched::target_by_name("cuda:sm_80");
    ir::Graph copied = given.clone();
    const Always source(5);
    sched::take_alternatives(copied, sched::AlternativeStage::final, target, {&source, target});
    ir::verify(copied);
    EXPECT_EQ(weight_of(copied)[1], channels) << text;
    std::vector<ir::RefTensor> values = test::draw_values(given, {.lo = -1, .hi = 1, .seed = 8});
    test::expect_same_values(given, copied, values, text);
    values[0].f[5] = std::numeric_limits<double>::infinity();
    test::expect_same_values(given, copied, values, text);
  }
}

// Channels of whole vectors, few ones, groups, and a copy engine need none.
TEST(CopyImage, OtherPixelsGetNoZeroChannels) {
  const std::pair<std::string, const char*> cases[] = {
      {conv("2, 40, 9, 7", "5, 40, 3, 3", ""), "cuda:sm_80"},
      {conv("2, 5, 9, 7", "5, 5, 3, 3", ""), "cuda:sm_80"},
      {conv("2, 42, 9, 7", "6, 21, 3, 3", ", groups: 2"), "cuda:sm_80"},
      {conv("2, 33, 9, 7", "5, 33, 3, 3", ""), "cuda:sm_90a"},
  };
  for (const auto& [text, name] : cases) {
    const sched::Target target = sched::target_by_name(name);
    ir::Graph graph = parse_yaml_graph(text, "conv.yaml", ".").bind({});
    const Always source(5);
    sched::take_alternatives(graph, sched::AlternativeStage::final, target, {&source, target});
    EXPECT_FALSE(source.asked.empty()) << text;  // a given image may be copied otherwise
    for (const sched::PlanSite& site : source.asked)
      EXPECT_EQ(std::ranges::count(site.alternatives, 5), 0) << text;
  }
}

// An infinite element makes what its windows give infinite, and nothing else NaN.
TEST(CopyImage, WindowsMeetNothingBeyondThem) {
  for (const std::string& text : {
           conv("1, 3, 17, 19", "8, 3, 7, 7", ", stride: 2, padding: 3"),
           conv("1, 3, 18, 20", "8, 3, 3, 3", ", stride: 2, padding: 1"),
           conv("1, 3, 30, 27", "8, 3, 11, 11", ", stride: 4, padding: 2"),
           conv("1, 3, 19, 20", "8, 3, 8, 7", ", stride: 2, padding: 3"),
       })
    for (const int64_t choice : {2, 4}) {
      const ir::Graph given = parse_yaml_graph(text, "conv.yaml", ".").bind({});
      std::vector<ir::RefTensor> values = test::draw_values(given, {.lo = 1, .hi = 2, .seed = 7});
      for (size_t i = 0; i < values[0].f.size(); i += 101)
        values[0].f[i] = std::numeric_limits<double>::infinity();
      test::expect_same_values(given, copied_by(choice, given), values, text);
    }
}

TEST(CopyImage, PatchesComputeTheSame) {
  const auto on_patches = [&](const ir::Graph& given) { return copied_by(3, given); };
  for (const std::string& text : {
           conv("2, 3, 16, 32", "8, 3, 4, 8", ", stride: [4, 8]"),
           conv("1, 5, 9, 14", "4, 5, 2, 4", ", stride: [2, 4]"),  // the last ones are not read
           conv("2, 3, 13", "8, 3, 3", ", stride: 3, padding: [0, -1]"),
           conv("1, 2, 4, 6, 8", "4, 2, 2, 3, 1", ", stride: [2, 3, 1]"),
       }) {
    const ir::Graph given = parse_yaml_graph(text, "conv.yaml", ".").bind({});
    const ir::Graph copied = on_patches(given);
    ASSERT_NE(nodes_of(copied).find("identity"), std::string::npos) << text << nodes_of(copied);
    test::expect_same_values(given, copied,
                             test::draw_values(given, {.lo = -1, .hi = 1, .seed = 4}), text);
  }
  for (const std::string& text : {
           conv("2, 3, 16, 32", "8, 3, 4, 4", ", stride: [4, 2]"),
           conv("2, 3, 16, 32", "8, 3, 4, 4", ", stride: 4, padding: 1"),
           conv("2, 4, 16, 32", "8, 2, 4, 4", ", stride: 4, groups: 2"),
           conv("2, 8, 16, 32", "8, 8, 1, 1", ""),
       })
    EXPECT_EQ(nodes_of(on_patches(parse_yaml_graph(text, "conv.yaml", ".").bind({}))),
              "convolution")
        << text;
}

std::string with_open_batch(std::string text) {
  text.insert(text.find("\ninputs:"), "\ndims: {B: 2}");
  return text;
}

// The batch may be open: no copy depends on it.
TEST(CopyImage, AnyBatchIsCopied) {
  for (const int64_t choice : {2, 3, 4}) {
    const sched::Target target = target_of_choice(choice);
    const std::string text =
        with_open_batch(choice != 3 ? conv("B, 3, 17, 19", "8, 3, 7, 7", ", stride: 2, padding: 3")
                                    : conv("B, 3, 16, 32", "8, 3, 4, 8", ", stride: [4, 8]"));
    const ir::Graph given = parse_yaml_graph(text, "conv.yaml", ".");
    ir::Graph copied = given.clone();
    const Always source(choice);
    sched::take_alternatives(copied, sched::AlternativeStage::final, target, {&source, target});
    ir::verify(copied);
    ASSERT_NE(nodes_of(copied).find("identity"), std::string::npos) << text << nodes_of(copied);
    for (const int64_t batch : {0, 1, 5}) {
      const ir::Graph bound = given.bind({{"B", batch}});
      test::expect_same_values(bound, copied.bind({{"B", batch}}),
                               test::draw_values(bound, {.lo = -1, .hi = 1, .seed = 5}), text);
    }
  }
}

struct Chosen {
  std::vector<sched::PlanSite> sites;
  exec::Executable executable;
};
Chosen compiled(const std::string& text, const char* arch) {
  const Always source(-1);
  backends::CompileOptions options;
  options.plan = &source;
  Chosen chosen;
  chosen.executable = backends::compile(parse_yaml_graph(text, "conv.yaml", "."),
                                        sched::target_by_name(arch), options);
  chosen.sites = source.asked;
  return chosen;
}

std::string with_weights(std::string text) {
  const size_t at = text.find(", w: {");
  const size_t end = text.find("}", at) + 1;
  const std::string weight = text.substr(at + 2, end - at - 3);
  text.erase(at, end - at);
  text.insert(text.find("\nnodes:"), str("\nweights: {", weight, ", init: {normal: 0.1}}}"));
  return text;
}

TEST(CopyImage, AStemIsReadByWindowsOfItsRows) {
  const std::string stem =
      with_weights(conv("16, 3, 224, 224", "64, 3, 7, 7", ", stride: 2, padding: 3"));
  const Chosen chosen = compiled(stem, "cuda:sm_90a");
  ASSERT_EQ(chosen.sites.size(), 1u);
  EXPECT_EQ(chosen.sites[0].alternatives, (std::vector<int64_t>{0, 1, 4}));
  EXPECT_EQ(chosen.sites[0].default_choice, 4);
  ASSERT_EQ(chosen.executable.kernels.size(), 2u);
  const exec::KernelBinary& product = chosen.executable.kernels[1];
  EXPECT_EQ(product.template_name, "gemm_sm90");
  EXPECT_NE(product.source.find("p.image.channels = 168;"), std::string::npos);
  EXPECT_NE(product.source.find("p.image.piece = 128;"), std::string::npos);
  // Windows begin with sectors.
  int images = 0;
  for (const exec::Step& step : chosen.executable.steps)
    for (const exec::TensorMap& map : std::get<exec::KernelLaunch>(step).maps) {
      if (map.kind != exec::TensorMap::Kind::im2col) continue;
      ++images;
      for (const ir::SymInt& stride : map.strides) EXPECT_EQ(stride.value() % 32, 0);
    }
  EXPECT_EQ(images, 1);
}

// Rows stay single where windows are whole lines or fit into one, and where they move by single
// rows.
TEST(CopyImage, RowsAreMergedWhereLoadsAreFewer) {
  const auto choices = [](std::string text, const char* dtype) {
    for (size_t at = 0; (at = text.find("f16", at)) != std::string::npos; at += 4)
      text.replace(at, 3, dtype);
    const Always source(-1);
    backends::CompileOptions options;
    options.plan = &source;
    options.matmul_precision = backends::MatmulPrecision::high;
    backends::compile(parse_yaml_graph(text, "conv.yaml", "."),
                      sched::target_by_name("cuda:sm_90a"), options);
    return source.asked.at(0).alternatives;
  };
  const std::string stem = conv("4, 3, 64, 64", "64, 3, 7, 7", ", stride: 2, padding: 3");
  EXPECT_EQ(choices(stem, "bf16"), (std::vector<int64_t>{0, 1, 4}));
  EXPECT_EQ(choices(stem, "f32"), (std::vector<int64_t>{0, 1, 2}));
  const std::string small = conv("4, 3, 64, 64", "64, 3, 3, 3", ", stride: 2, padding: 1");
  EXPECT_EQ(choices(small, "bf16"), (std::vector<int64_t>{0, 1, 2}));
  const std::string dense = conv("4, 3, 64, 64", "64, 3, 3, 3", ", stride: [1, 2], padding: 1");
  EXPECT_EQ(choices(dense, "bf16"), (std::vector<int64_t>{0, 1, 2}));
}

// So is one of any number of images, by kernels for many numbers of them.
TEST(CopyImage, AStemOfAnyBatchIsReadByWindowsOfItsRows) {
  const Always source(-1);
  backends::CompileOptions options;
  options.plan = &source;
  options.open_dims = {{"B", {.least = 1, .most = 64}}};
  const exec::Executable executable = backends::compile(
      parse_yaml_graph(with_open_batch(with_weights(
                           conv("B, 3, 224, 224", "64, 3, 7, 7", ", stride: 2, padding: 3"))),
                       "conv.yaml", "."),
      sched::target_by_name("cuda:sm_90a"), options);
  ASSERT_EQ(source.asked.size(), 1u);
  EXPECT_EQ(source.asked[0].default_choice, 4);
  int products = 0;
  for (const exec::KernelBinary& kernel : executable.kernels)
    if (kernel.template_name == "gemm_sm90") {
      ++products;
      EXPECT_NE(kernel.source.find("p.image.channels = 168;"), std::string::npos);
    }
  EXPECT_GT(products, 1);
}

// Two may read one weight.
TEST(CopyImage, StemsShareAWeight) {
  std::string text = with_weights(conv("4, 3, 64, 64", "64, 3, 7, 7", ", stride: 2, padding: 3"));
  text.replace(text.find("outputs: [y]"), 12,
               "  - {out: t, op: neg, in: [x]}\n"
               "  - {out: z, op: convolution, in: [t, w], stride: 2, padding: 3}\noutputs: [y, z]");
  const ir::Graph copied = copied_by(4, parse_yaml_graph(text, "conv.yaml", "."));
  EXPECT_NE(nodes_of(copied).find("identity"), std::string::npos) << nodes_of(copied);
}

// So is one whose weight comes at run time: it is copied, too.
TEST(CopyImage, AGivenWeightIsCopiedToItsWindows) {
  const Chosen chosen =
      compiled(conv("64, 3, 224, 224", "64, 3, 7, 7", ", stride: 2, padding: 3"), "cuda:sm_90a");
  ASSERT_EQ(chosen.sites.size(), 1u);
  EXPECT_EQ(chosen.sites[0].default_choice, 4);
  ASSERT_EQ(chosen.executable.kernels.size(), 3u);
  EXPECT_NE(chosen.executable.kernels[2].source.find("p.image.channels = 168;"), std::string::npos);
}

TEST(CopyImage, ManyChannelsAreCopiedBehindEachOther) {
  const Chosen chosen =
      compiled(with_weights(conv("16, 64, 56, 56", "64, 64, 3, 3", ", padding: 1")), "cuda:sm_90a");
  ASSERT_EQ(chosen.sites.size(), 1u);
  EXPECT_EQ(chosen.sites[0].alternatives, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(chosen.sites[0].default_choice, 1);
  ASSERT_EQ(chosen.executable.kernels.size(), 2u);
  EXPECT_NE(chosen.executable.kernels[1].source.find("p.image.channels = 64;"), std::string::npos);
}

// Copies gain nothing where threads load in any case.
TEST(CopyImage, NothingIsCopiedForOtherUnits) {
  EXPECT_TRUE(compiled(conv("16, 3, 224, 224", "64, 3, 7, 7", ", stride: 2, padding: 3"), "vulkan")
                  .sites.empty());
}

}  // namespace
}  // namespace tcc
