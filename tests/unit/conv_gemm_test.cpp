// Convolutions on gemm_sm90 whose image comes by im2col loads: which regions are read so, and that
// random ones compile with random configs.
#include "scheduler/templates/conv_gemm.h"

#include "backends/device/common/gemm_sm90_shape.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/device.h"
#include "scheduler/templates/common.h"
#include "tests/cubin.h"
#include "tests/random_convolutions.h"

namespace tcc::test {
namespace {

backends::CompileOptions options_of(const Product& product) {
  backends::CompileOptions options;
  if (product.tf32)
    options.matmul_precision = backends::MatmulPrecision::high;
  else if (!product.dtype.empty())
    options.dtype = product.dtype == "f16" ? DType::f16 : DType::bf16;
  return options;
}

// The elements that the copy engine brings by a map: pixels from one on, moved by a tap's offsets.
// The place of an element in its buffer, or -1 for a zero.
class Pixels {
 public:
  Pixels(const exec::TensorMap& map, std::vector<int64_t> first, int64_t image)
      : map_(map), at_(std::move(first)), image_(image) {}

  int64_t element(const std::vector<int64_t>& offsets, int64_t channel) const {
    int64_t place = map_.offset.value() + channel;
    bool inside = channel < map_.dims[0].value() && image_ < map_.dims.back().value();
    for (size_t d = 0; d < at_.size(); ++d) {
      const int64_t at = at_[d] + offsets[d];
      inside = inside && at >= 0 && at < map_.dims[d + 1].value();
      place += at * map_.strides[d].value() / size_bytes(map_.dtype);
    }
    place += image_ * map_.strides.back().value() / size_bytes(map_.dtype);
    return inside ? place : -1;
  }
  void next() {
    for (size_t d = 0; d < at_.size(); ++d) {
      at_[d] += map_.steps[d + 1];
      if (at_[d] < map_.dims[d + 1].value() + map_.im2col.upper[d]) return;
      at_[d] = map_.im2col.lower[d];
    }
    ++image_;
  }

 private:
  const exec::TensorMap& map_;
  std::vector<int64_t> at_;
  int64_t image_;
};

// The k tiles of a kernel, as its loads fill them: each piece of each row against the contraction.
void expect_pieces(const sched::Candidate& candidate, std::mt19937_64& random) {
  const sched::Region& region = candidate.region();
  const auto product = sched::plan_conv_gemm(region, sched::target_by_name("cuda:sm_90a"), "wgmma");
  ASSERT_TRUE(product && product->image);
  const bool of_a = product->a.load == kernels::Load::im2col;
  kernels::GemmSm90 g;
  g.product = product->product(false);
  g.image = sched::device_image(*product->image);
  const int64_t piece = kernels::sm90::piece_k(g), of_tap = kernels::sm90::tap_pieces(g);
  const auto map = sched::im2col_map(*product->image, "image", static_cast<int>(piece), 8, 128);
  ASSERT_TRUE(map) << map.reason();
  const kernels::ImageDim dims[] = {g.image.x, g.image.y, g.image.z};
  const auto spatial = static_cast<size_t>(g.image.spatial);
  const int64_t rows = (of_a ? product->plan.m : product->plan.n).fixed_size(),
                batches = product->plan.batch.fixed_size();
  for (int sample = 0; sample < 12; ++sample) {
    const auto any = [&](int64_t count) {
      return static_cast<int64_t>(random() % static_cast<uint64_t>(count));
    };
    const int64_t row0 = any((rows + 7) / 8) * 8,
                  number = any(of_tap * kernels::sm90::taps(g.image)), batch = any(batches),
                  tap = number / of_tap, channel0 = number % of_tap * piece;
    int64_t rest = row0, group = 0;
    std::vector<int64_t> first, offsets;
    for (size_t d = 0; d < spatial; ++d) {
      first.push_back(rest % dims[d].outputs * dims[d].step - dims[d].padding);
      rest /= dims[d].outputs;
      offsets.push_back(tap / dims[d].along % dims[d].taps * dims[d].dilation);
    }
    for (const auto& axis : product->image->batch)
      group += batch / axis.inside.value() % axis.extent.value() * axis.stride.value();
    Pixels pixels(*map, first, rest);
    for (int64_t row = row0; row < std::min(row0 + 40, rows); ++row, pixels.next())
      for (const int64_t channel : {channel0, channel0 + piece - 1}) {
        const int64_t found = pixels.element(offsets, group + channel);
        if (channel >= g.image.channels) {
          EXPECT_EQ(found, -1) << "beyond a tap's channels";
          continue;
        }
        sched::Inliner inliner(region);
        const sched::Expr read = sched::operand_element(inliner, region, product->plan, of_a, batch,
                                                        row, tap * g.image.channels + channel);
        if (found < 0) {
          EXPECT_TRUE(ir::is_const(read, 0)) << ir::to_string(read);
          continue;
        }
        ir::visit(read, [&](const sched::Expr& load) {
          if (load->kind == ir::ExprNode::Kind::load) { EXPECT_TRUE(load->index.is(found)); }
        });
        EXPECT_FALSE(ir::is_const(read, 0));
      }
  }
}

TEST(ConvGemm, PiecesAreWhatTheConvolutionReads) {
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  int64_t images = 0;
  for (const ConvolutionKind kind : {ConvolutionKind::floats, ConvolutionKind::bytes})
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      std::mt19937_64 random(seed);
      const Product product = draw_convolution(random, kind);
      const backends::Scheduled scheduled = backends::schedule(
          parse_yaml_graph(product.text, "conv.yaml", "."), target, options_of(product));
      for (const sched::ScheduledRegion& region : scheduled.regions) {
        const auto conv = sched::plan_conv_gemm(region.region(), target, "wgmma");
        if (!conv || !conv->image) continue;
        ++images;
        SCOPED_TRACE(str("seed ", seed, "\n", product.text));
        expect_pieces(region.candidate(), random);
      }
    }
  EXPECT_GT(images, 40);
}

// Threads load what the copy engine cannot.
TEST(ConvGemm, OtherImagesAreLoadedByThreads) {
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  const auto image_of = [&](const std::string& shape, const std::string& weight,
                            const std::string& attrs) {
    const std::string text = str("tcc: 1\nname: conv\ninputs: {x: {dtype: f16, shape: [", shape,
                                 "]}}\nweights: {w: {dtype: f16, shape: [", weight,
                                 "], init: {normal: 0.1}}}\nnodes:\n  - {out: xc, op: permute, in: "
                                 "[x], dims: [0, 3, 1, 2]}\n"
                                 "  - {out: y, op: conv2d, in: [xc, w]",
                                 attrs, "}\noutputs: [y]\n");
    const backends::Scheduled scheduled =
        backends::schedule(parse_yaml_graph(text, "conv.yaml", "."), target);
    const auto conv = sched::plan_conv_gemm(scheduled.regions.back().region(), target, "wgmma");
    return conv && conv->image;
  };
  EXPECT_TRUE(image_of("2, 28, 28, 64", "64, 64, 3, 3", ", padding: 1"));
  EXPECT_TRUE(image_of("2, 28, 28, 64", "64, 64, 1, 1", ", stride: 2"));
  EXPECT_FALSE(image_of("2, 28, 28, 64", "64, 64, 1, 1", "")) << "a plain product";
  EXPECT_TRUE(image_of("2, 28, 28, 60", "64, 60, 3, 3", ", padding: 1")) << "a copy's pixels";
  EXPECT_FALSE(image_of("2, 28, 28, 60", "64, 30, 3, 3", ", padding: 1, groups: 2"))
      << "odd pixels of groups";
  EXPECT_FALSE(image_of("2, 300, 28, 64", "64, 64, 3, 3", ", padding: 1, stride: 9"));
  EXPECT_FALSE(image_of("2, 28, 28, 80", "64, 40, 3, 3", ", padding: 1, groups: 2"))
      << "zeros between groups";
  EXPECT_TRUE(image_of("2, 28, 28, 128", "64, 64, 3, 3", ", padding: 1, groups: 2"));
  EXPECT_TRUE(image_of("2, 28, 28, 40", "64, 40, 3, 3", ", padding: 1"));
}

// The regions of an f16 graph of images with channels last, whose inputs are `x`.
backends::Scheduled scheduled_for(const char* target, const std::string& x,
                                  const std::string& weights, const std::string& nodes) {
  const std::string text =
      str("tcc: 1\nname: conv\ninputs: {x: {dtype: f16, shape: [", x, "]}}\nweights: {", weights,
          "}\nnodes:\n  - {out: i, op: permute, in: [x], dims: [0, 3, 1, 2]}\n", nodes,
          "outputs: [y]\n");
  return backends::schedule(parse_yaml_graph(text, "conv.yaml", "."),
                            sched::target_by_name(target));
}
std::string weight(const char* name, const char* shape) {
  return str(name, ": {dtype: f16, shape: [", shape, "], init: {normal: 0.1}}");
}

// By mma.sync, threads copy 16 or 8 bytes of a pixel's channels, and load others one by one.
TEST(ConvGemm, ThreadsCopyVectorsOfChannels) {
  const auto alignment_of = [](int64_t channels) {
    const backends::Scheduled scheduled =
        scheduled_for("cuda:sm_80", str("2, 28, 28, ", channels),
                      weight("w", str("64, ", channels, ", 3, 3").c_str()),
                      "  - {out: y, op: conv2d, in: [i, w], padding: 1}\n");
    const auto conv = sched::plan_vector_gemm(scheduled.regions.back().region(),
                                              sched::target_by_name("cuda:sm_80"), "mma");
    EXPECT_TRUE(conv);
    EXPECT_NE(conv->gathers, conv->image.has_value());
    if (!conv->image) return int64_t{0};
    return (conv->plan.a.input == 0 ? conv->a : conv->b).alignment;
  };
  EXPECT_EQ(alignment_of(64), 16);
  EXPECT_EQ(alignment_of(20), 8);
  EXPECT_EQ(alignment_of(33), 0);
}

// The vectors of an open number of images may be more than 31 bits number.
TEST(ConvGemm, VectorsOfManyImagesHaveWideNumbers) {
  const auto source_of = [](bool open) {
    backends::CompileOptions options;
    options.binaries = false;
    if (open) options.open_dims = {{"N", {.least = 1, .most = 4000}}};
    const exec::Executable executable = backends::compile(
        parse_yaml_graph("tcc: 1\nname: conv\ndims: {N: 2}\n"
                         "inputs: {x: {dtype: f16, shape: [N, 1024, 1024, 64]}}\n"
                         "weights: {w: {dtype: f16, shape: [64, 64, 3, 3], init: {normal: 0.1}}}\n"
                         "nodes:\n  - {out: i, op: permute, in: [x], dims: [0, 3, 1, 2]}\n"
                         "  - {out: c, op: conv2d, in: [i, w], padding: 1}\n"
                         "  - {out: y, op: permute, in: [c], dims: [0, 2, 3, 1]}\noutputs: [y]\n",
                         "conv.yaml", "."),
        sched::target_by_name("cuda:sm_80"), options);
    return executable.kernels.front().source;
  };
  const auto numbers_of = [](const std::string& source, const std::string& type) {
    return source.find(type + " vector_a(const u16* __restrict__") != std::string::npos ||
           source.find(type + " vector_b(const u16* __restrict__") != std::string::npos;
  };
  const std::string wide = source_of(true), narrow = source_of(false);
  EXPECT_NE(wide.find("Load::im2col"), std::string::npos);
  EXPECT_FALSE(numbers_of(wide, "i32"));
  EXPECT_TRUE(numbers_of(narrow, "i32"));
}

// An image of 30 channels between kernels is written with pixels of 64 bytes.
TEST(ConvGemm, ImagesBetweenKernelsHaveWholePixels) {
  const backends::Scheduled scheduled = scheduled_for(
      "cuda:sm_90a", "8, 56, 56, 64",
      weight("v", "30, 64, 3, 3") + ", " + weight("w", "64, 30, 3, 3"),
      "  - {out: c, op: conv2d, in: [i, v], padding: 1}\n  - {out: r, op: relu, in: [c]}\n"
      "  - {out: y, op: conv2d, in: [r, w], padding: 1}\n");
  ASSERT_EQ(scheduled.regions.size(), 2U);
  const auto conv = sched::plan_conv_gemm(scheduled.regions.back().region(),
                                          sched::target_by_name("cuda:sm_90a"), "wgmma");
  ASSERT_TRUE(conv && conv->image);
  EXPECT_EQ(conv->image->channels, 30);
  EXPECT_EQ(conv->image->spatial.back().pitch, 32);
}

// Pointwise ops before a convolution are a kernel that stores the image, unless that is small.
TEST(ConvGemm, LargeComputedImagesAreStored) {
  const auto regions = [](const char* shape) {
    return scheduled_for("cuda:sm_90a", shape, weight("w", "64, 64, 3, 3"),
                         "  - {out: r, op: relu, in: [i]}\n"
                         "  - {out: y, op: conv2d, in: [r, w], padding: 1}\n")
        .regions.size();
  };
  EXPECT_EQ(regions("32, 28, 28, 64"), 2U);
  EXPECT_EQ(regions("1, 4, 4, 64"), 1U);
}

// Pieces waste little of k: their bytes, for channels of f16.
TEST(ConvGemm, PiecesFitTheChannels) {
  const auto piece = [](int64_t channels) {
    sched::ConvView view;
    view.dtype = DType::f16;
    view.channels = channels;
    view.spatial = {{}};
    return sched::device_image(view).piece;
  };
  EXPECT_EQ(piece(64), 128);
  EXPECT_EQ(piece(320), 128);
  EXPECT_EQ(piece(96), 64);
  EXPECT_EQ(piece(28), 64);
  EXPECT_EQ(piece(80), 32);
  EXPECT_EQ(piece(8), 32);
  EXPECT_EQ(piece(500), 128);
}

TEST(ConvGemm, RandomConvolutionsCompileWithoutSpills) {
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  int64_t by_im2col = 0, count = draws("TCC_PRODUCTS_COUNT", 8),
          first = number_from("TCC_PRODUCTS_SEED", 1);
  for (const ConvolutionKind kind :
       {ConvolutionKind::floats, ConvolutionKind::bytes, ConvolutionKind::f8})
    for (int64_t seed = first; seed < first + count; ++seed) {
      std::mt19937_64 random(static_cast<uint64_t>(seed));
      const Product product = draw_convolution(random, kind);
      backends::CompileOptions options = options_of(product);
      const RandomConfigs configs(static_cast<uint64_t>(seed));
      if (seed % 4 != 0) options.configs = &configs;
      const exec::Executable executable =
          backends::compile(parse_yaml_graph(product.text, "conv.yaml", "."), target, options);
      const int64_t images = im2col_kernels(executable);
      by_im2col += images;
      for (const exec::KernelBinary& kernel : executable.kernels)
        if (kernel.source.find(".load = Load::im2col;") != std::string::npos) {
          EXPECT_EQ(frame_bytes(kernel.code), 0) << seed << " " << kernel.config << product.text;
        }
    }
  EXPECT_GT(2 * by_im2col, count);
}

}  // namespace
}  // namespace tcc::test
