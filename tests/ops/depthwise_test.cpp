// Random convolutions in small groups, depthwise ones among them, with random configs of their
// template, against the reference. A software device is taken for one whose workgroups run side by
// side.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/device.h"
#include "tests/random_products.h"

namespace tcc::test {
namespace {

std::string list(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) text += str(text.empty() ? "" : ", ", value);
  return "[" + text + "]";
}

// Channels last in memory, with what stands around such convolutions.
Product draw_depthwise(std::mt19937_64& random) {
  const auto side = [&] { return random() % 8 == 0 ? 1 : 1 + static_cast<int64_t>(random() % 18); };
  const int64_t n = pick(random, {1, 2}), c = pick(random, {3, 8, 16, 24, 37, 40, 72, 100}),
                h = side(), w = side();
  const int64_t taps_y = pick(random, {1, 3, 5, 7}), taps_x = pick(random, {1, 3, 5, 7}),
                stride = pick(random, {1, 1, 2}), dilation = pick(random, {1, 1, 1, 2});
  const auto padding = [&](int64_t taps) { return (taps - 1) * dilation / 2 + (taps > 5 ? 1 : 0); };
  const int64_t before_y = padding(taps_y), before_x = padding(taps_x);
  const auto out = [&](int64_t extent, int64_t taps, int64_t before) {
    return (extent + 2 * before - (taps - 1) * dilation - 1) / stride + 1;
  };
  const int64_t oh = out(h, taps_y, before_y), ow = out(w, taps_x, before_x);
  Product product;
  product.dtype = random() % 2 == 0 ? "bf16" : random() % 2 == 0 ? "f16" : "";
  const bool adds = random() % 2 == 0, computes = random() % 3 == 0;
  product.text = str(
      "tcc: 1\nname: depthwise\ninputs:\n  x: {dtype: f32, shape: ", shape({n, h, w, c}),
      "}\n  f: {dtype: f32, shape: ", shape({taps_y, taps_x, c, 1}),
      "}\n  b: {dtype: f32, shape: ", shape({c, 1, 1}),
      "}\n  r: {dtype: f32, shape: ", shape({n, oh, ow, c}),
      "}\nnodes:\n"
      "  - {out: ",
      computes ? "stored" : "image", ", op: permute, in: [x], dims: [0, 3, 1, 2]}\n",
      computes ? "  - {out: image, op: neg, in: [stored]}\n" : "",
      "  - {out: filter, op: permute, in: [f], dims: [2, 3, 0, 1]}\n"
      "  - {out: residual, op: permute, in: [r], dims: [0, 3, 1, 2]}\n"
      "  - {out: s, op: conv2d, in: [image, filter], groups: ",
      c, ", stride: ", stride, ", dilation: ", dilation, ", padding: [", before_y, ", ", before_x,
      "]}\n  - {out: t, op: add, in: [s, b]}\n  - {out: u, op: ", adds ? "add" : "mul",
      ", in: [t, residual]}\n  - {out: v, op: silu, in: [u]}\n"
      "  - {out: y, op: permute, in: [v], dims: [0, 2, 3, 1]}\noutputs: [y]\n");
  return product;
}

// Groups of several channels, of images of one or two dims whose channels are first or last in
// memory. The results' are last.
Product draw_grouped(std::mt19937_64& random) {
  const bool is_line = random() % 4 == 0, is_last = random() % 4 != 0, computes = random() % 3 == 0;
  const auto side = [&] { return random() % 8 == 0 ? 1 : 1 + static_cast<int64_t>(random() % 18); };
  const int64_t n = pick(random, {1, 2}), groups = pick(random, {2, 3, 8, 9, 16}),
                inputs = pick(random, {1, 2, 3, 4, 4, 8, 12}),
                outputs = pick(random, {1, 2, 3, 4, 4, 8, 12}), h = is_line ? 1 : side(),
                w = side();
  const int64_t taps_y = is_line ? 1 : pick(random, {1, 3, 3, 5}),
                taps_x = pick(random, {1, 3, 3, 5}), stride = pick(random, {1, 1, 2}),
                dilation = pick(random, {1, 1, 1, 2});
  const auto padding = [&](int64_t taps) { return (taps - 1) * dilation / 2; };
  const auto out = [&](int64_t extent, int64_t taps) {
    return (extent + 2 * padding(taps) - (taps - 1) * dilation - 1) / stride + 1;
  };
  // Images of one dim: [n, c, w].
  const auto image = [&](int64_t c, int64_t y, int64_t x) {
    return is_line ? shape({n, x, c}) : shape({n, y, x, c});
  };
  const char *to_first = is_line ? "[0, 2, 1]" : "[0, 3, 1, 2]",
             *to_last = is_line ? "[0, 2, 1]" : "[0, 2, 3, 1]";
  const int64_t c = groups * inputs, o = groups * outputs, oh = is_line ? 1 : out(h, taps_y),
                ow = out(w, taps_x);
  const std::string given = is_last   ? image(c, h, w)
                            : is_line ? shape({n, c, w})
                                      : shape({n, c, h, w});
  Product product;
  product.dtype = random() % 2 == 0 ? "bf16" : random() % 2 == 0 ? "f16" : "";
  std::string image_name = "x";
  product.text = str("tcc: 1\nname: grouped\ninputs:\n  x: {dtype: f32, shape: ", given,
                     "}\n  f: {dtype: f32, shape: ",
                     is_line ? shape({o, inputs, taps_x}) : shape({o, inputs, taps_y, taps_x}),
                     "}\n  b: {dtype: f32, shape: ", is_line ? shape({o, 1}) : shape({o, 1, 1}),
                     "}\n  r: {dtype: f32, shape: ", image(o, oh, ow), "}\nnodes:\n");
  if (is_last) {
    product.text += str("  - {out: image, op: permute, in: [x], dims: ", to_first, "}\n");
    image_name = "image";
  }
  if (computes) {
    product.text += str("  - {out: made, op: neg, in: [", image_name, "]}\n");
    image_name = "made";
  }
  const std::string pads =
      is_line ? shape({padding(taps_x)}) : shape({padding(taps_y), padding(taps_x)});
  product.text += str(
      "  - {out: residual, op: permute, in: [r], dims: ", to_first,
      "}\n  - {out: s, op: ", is_line ? "conv1d" : "conv2d", ", in: [", image_name,
      ", f], groups: ", groups, ", stride: ", stride, ", dilation: ", dilation, ", padding: ", pads,
      "}\n  - {out: t, op: add, in: [s, b]}\n  - {out: u, op: mul, in: [t, residual]}\n"
      "  - {out: y, op: permute, in: [u], dims: ",
      to_last, "}\noutputs: [y]\n");
  return product;
}

// Images whose rows lie in memory as they are, of one to three dims.
Product draw_rows(std::mt19937_64& random) {
  const int64_t dims = pick(random, {1, 2, 2, 2, 3}), groups = pick(random, {2, 3, 8, 33}),
                outputs = pick(random, {1, 1, 1, 2});
  std::vector<int64_t> image = {pick(random, {1, 2}), groups}, out = {image[0], groups * outputs},
                       filter = {groups * outputs, 1}, stride, dilation, padding;
  for (int64_t d = 0; d < dims; ++d) {
    filter.push_back(pick(random, {1, 2, 3, 3, d + 1 == dims ? 7 : 3}));
    stride.push_back(pick(random, {1, 1, 2}));
    dilation.push_back(pick(random, {1, 1, 1, 2}));
    const int64_t reach = (filter.back() - 1) * dilation.back() + 1,
                  extent = d + 1 == dims ? pick(random, {1, 7, 14, 16, 28, 33, 56, 64})
                                         : pick(random, {1, 4, 7, 9});
    // Causal windows have no padding behind.
    const bool is_causal = random() % 4 == 0;
    padding.push_back(random() % 4 == 0 ? 0 : is_causal ? reach - 1 : reach / 2);
    padding.push_back(is_causal ? 0 : padding.back());
    image.push_back(std::max(extent, reach));
    out.push_back(
        (image.back() + padding[padding.size() - 2] + padding.back() - reach) / stride.back() + 1);
  }
  std::vector<int64_t> bias(static_cast<size_t>(dims) + 1, 1);
  bias[0] = groups * outputs;
  Product product;
  product.dtype = random() % 2 == 0 ? "bf16" : random() % 2 == 0 ? "f16" : "";
  const bool computes = random() % 3 == 0, adds = random() % 2 == 0;
  product.text =
      str("tcc: 1\nname: rows\ninputs:\n  x: {dtype: f32, shape: ", list(image),
          "}\n  f: {dtype: f32, shape: ", list(filter), "}\n  b: {dtype: f32, shape: ", list(bias),
          "}\n  r: {dtype: f32, shape: ", list(out), "}\nnodes:\n",
          computes ? "  - {out: image, op: neg, in: [x]}\n" : "",
          "  - {out: s, op: convolution, in: [", computes ? "image" : "x", ", f], groups: ", groups,
          ", stride: ", list(stride), ", dilation: ", list(dilation), ", padding: ", list(padding),
          "}\n  - {out: t, op: add, in: [s, b]}\n  - {out: y, op: ", adds ? "add" : "relu",
          ", in: [", adds ? "t, r" : "t", "]}\noutputs: [y]\n");
  return product;
}

// Images of three dims, of groups of one or several channels.
Product draw_volume(std::mt19937_64& random) {
  const auto side = [&] { return 1 + static_cast<int64_t>(random() % 7); };
  const int64_t n = pick(random, {1, 2}), groups = pick(random, {3, 8, 16, 24, 37}),
                inputs = pick(random, {1, 1, 1, 2, 4}),
                outputs = inputs == 1 ? pick(random, {1, 1, 2}) : inputs;
  std::vector<int64_t> image = {n}, out = {n}, taps, stride, dilation, padding;
  for (int d = 0; d < 3; ++d) {
    taps.push_back(pick(random, {1, 1, 2, 3, 3}));
    stride.push_back(pick(random, {1, 1, 2}));
    dilation.push_back(pick(random, {1, 1, 1, 2}));
    const int64_t reach = (taps.back() - 1) * dilation.back() + 1;
    padding.push_back(random() % 4 == 0 ? 0 : reach / 2);
    image.push_back(std::max(side(), reach - 2 * padding.back()));
    out.push_back((image.back() + 2 * padding.back() - reach) / stride.back() + 1);
  }
  std::vector<int64_t> filter = {groups * outputs, inputs};
  filter.insert(filter.end(), taps.begin(), taps.end());
  image.push_back(groups * inputs);
  out.push_back(groups * outputs);
  Product product;
  product.dtype = random() % 2 == 0 ? "bf16" : random() % 2 == 0 ? "f16" : "";
  const bool computes = random() % 3 == 0;
  product.text =
      str("tcc: 1\nname: volume\ninputs:\n  x: {dtype: f32, shape: ", list(image),
          "}\n  f: {dtype: f32, shape: ", list(filter), "}\n  r: {dtype: f32, shape: ", list(out),
          "}\nnodes:\n  - {out: ", computes ? "stored" : "image",
          ", op: permute, in: [x], dims: [0, 4, 1, 2, 3]}\n",
          computes ? "  - {out: image, op: neg, in: [stored]}\n" : "",
          "  - {out: residual, op: permute, in: [r], dims: [0, 4, 1, 2, 3]}\n"
          "  - {out: s, op: conv3d, in: [image, f], groups: ",
          groups, ", stride: ", list(stride), ", dilation: ", list(dilation),
          ", padding: ", list(padding),
          "}\n  - {out: u, op: mul, in: [s, residual]}\n"
          "  - {out: y, op: permute, in: [u], dims: [0, 2, 3, 4, 1]}\noutputs: [y]\n");
  return product;
}

// Returns how many kernels the template has.
int64_t check_all(const std::string& name, const Draw& draw, int64_t count) {
  const std::shared_ptr<runtime::Device> device = open_once(name);
  sched::Target target = device->target();
  target.serial_workgroups = false;
  int64_t own = 0;
  const int64_t first = number_from("TCC_PRODUCTS_SEED", 1);
  for (int64_t seed = first; seed < first + count; ++seed)
    check_product(device, target, static_cast<uint64_t>(seed), draw,
                  [&](const exec::Executable& executable) {
                    for (const exec::KernelBinary& kernel : executable.kernels)
                      own += kernel.template_name == "depthwise";
                  });
  return own;
}

TEST(Depthwise, AgreesWithTheReference) {
  const int64_t count = draws("TCC_PRODUCTS_COUNT", 24);
  for (const std::string& name : devices_present(Devices::software))
    EXPECT_GE(check_all(name, draw_depthwise, count), count) << "of " << name;
}

// Templates of products are switched off, so that estimates do not decide.
TEST(Depthwise, GroupsAgreeWithTheReference) {
  const int64_t count = draws("TCC_PRODUCTS_COUNT", 24);
  ::setenv("TCC_TEMPLATES", "-contraction,-gemv,-gemm_sm90,-fma_sm90,-gemm_sm80,-gemm_coopmat", 1);
  for (const std::string& name : devices_present(Devices::software))
    EXPECT_GE(check_all(name, draw_grouped, count), count) << "of " << name;
  ::unsetenv("TCC_TEMPLATES");
}

// Estimates decide between its kernels and those of `pointwise`; few results would be gemv's.
TEST(Depthwise, RowsAgreeWithTheReference) {
  const int64_t count = draws("TCC_PRODUCTS_COUNT", 40);
  ::setenv("TCC_TEMPLATES", "-gemv", 1);
  for (const std::string& name : devices_present(Devices::software))
    EXPECT_GE(check_all(name, draw_rows, count), count * 3 / 4) << "of " << name;
  ::unsetenv("TCC_TEMPLATES");
}

TEST(Depthwise, VolumesAgreeWithTheReference) {
  const int64_t count = draws("TCC_PRODUCTS_COUNT", 24);
  ::setenv("TCC_TEMPLATES", "-contraction,-gemv,-gemm_sm90,-fma_sm90,-gemm_sm80,-gemm_coopmat", 1);
  for (const std::string& name : devices_present(Devices::software))
    EXPECT_GE(check_all(name, draw_volume, count), count) << "of " << name;
  ::unsetenv("TCC_TEMPLATES");
}

// A block of ConvNeXt: the image stays channels last from the convolution to what reads it.
TEST(Depthwise, GpusHaveItsTemplate) {
  const std::string text =
      "tcc: 1\nname: block\ninputs: {x: {dtype: bf16, shape: [8, 14, 14, 384]}}\nweights:\n"
      "  f: {dtype: bf16, shape: [384, 1, 7, 7], init: {normal: 0.1}}\n"
      "  b: {dtype: bf16, shape: [384], init: {normal: 1}}\nnodes:\n"
      "  - {out: image, op: permute, in: [x], dims: [0, 3, 1, 2]}\n"
      "  - {out: c, op: conv2d, in: [image, f, b], groups: 384, padding: 3}\n"
      "  - {out: p, op: permute, in: [c], dims: [0, 2, 3, 1]}\n"
      "  - {out: y, op: layer_norm, in: [p], normalized_shape: [384]}\noutputs: [y]\n";
  backends::CompileOptions options;
  options.binaries = false;
  // Estimates decide between the two of CUDA.
  for (const auto& [name, by] : {std::pair{"cuda:sm_90a", "depthwise_sm80"},
                                 {"cuda:sm_80", "depthwise_sm80"},
                                 {"vulkan:nvidia", "depthwise"}}) {
    const exec::Executable executable = backends::compile(parse_yaml_graph(text, "block.yaml", "."),
                                                          sched::target_by_name(name), options);
    ASSERT_EQ(executable.kernels.size(), 2u) << name;
    EXPECT_EQ(executable.kernels[0].template_name, by) << name;
    EXPECT_EQ(executable.kernels[1].template_name, "reduction") << name;
  }
}

// The kernel numbers its tiles in 32 bits, several of them to a workgroup.
TEST(Depthwise, TilesAreNumbersOf32Bits) {
  ::setenv("TCC_TEMPLATES", "depthwise_sm80,-depthwise", 1);
  const auto against = [](int64_t images, int64_t parts) {
    sched::Target target = sched::target_by_name("cuda:sm_80");
    target.max_buffer_bytes = int64_t{1} << 45;
    const std::string text =
        str("tcc: 1\nname: many\ninputs: {x: {dtype: bf16, shape: [", images,
            ", 1, 1, 8]}}\nweights: {f: {dtype: bf16, shape: [8, 1, 3, 3], init: {normal: 1}}}\n"
            "nodes:\n  - {out: image, op: permute, in: [x], dims: [0, 3, 1, 2]}\n"
            "  - {out: c, op: conv2d, in: [image, f], groups: 8, padding: 1}\n"
            "  - {out: y, op: permute, in: [c], dims: [0, 2, 3, 1]}\noutputs: [y]\n");
    const ir::Graph graph = parse_yaml_graph(text, "many.yaml", ".").bind({});
    const backends::Scheduled scheduled = backends::schedule(graph, target);
    const sched::Candidate& candidate = scheduled.regions.at(0).candidate();
    EXPECT_EQ(candidate.kernel_template().name(), "depthwise_sm80");
    return candidate.space().violation(
        {{"block_channels", 8}, {"rows", 2}, {"columns", 8}, {"parts", parts}, {"warps", 2}});
  };
  // An image is a tile. The last workgroup may have numbers of seven that there are not.
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(against(kMost - 8, 8), "");
  EXPECT_NE(against(kMost - 7, 8).find("32 bits"), std::string::npos);
  ::unsetenv("TCC_TEMPLATES");
}

// An image that is given by rows.
TEST(Depthwise, TakesRowsInMemory) {
  const auto template_of = [](const char* target, const std::string& image,
                              const std::string& filter) {
    const ir::Graph graph =
        parse_yaml_graph(str("tcc: 1\nname: rows\ninputs: {x: {dtype: bf16, shape: ", image,
                             "}}\nweights: {w: {dtype: bf16, shape: ", filter,
                             ", init: {normal: 0.1}}}\nnodes: [{out: y, op: convolution, in: [x, "
                             "w], groups: 64, padding: 1}]\noutputs: [y]\n"),
                         "rows.yaml", ".")
            .bind({});
    const backends::Scheduled scheduled = backends::schedule(graph, sched::target_by_name(target));
    return std::string(scheduled.regions.at(0).candidate().kernel_template().name());
  };
  for (const char* target : {"cuda:sm_90a", "cuda:sm_80", "vulkan:nvidia"}) {
    EXPECT_EQ(template_of(target, "[8, 64, 4096]", "[64, 1, 3]"), "depthwise") << target;
    EXPECT_EQ(template_of(target, "[8, 64, 56, 56]", "[64, 1, 3, 3]"), "depthwise") << target;
    EXPECT_EQ(template_of(target, "[8, 64, 8, 28, 28]", "[64, 1, 3, 3, 3]"), "depthwise") << target;
  }
  EXPECT_EQ(template_of("vulkan:lavapipe", "[8, 64, 56, 56]", "[64, 1, 3, 3]"), "pointwise");
}

// The estimates decide whether groups are products: for matrix units, four channels are few.
TEST(Depthwise, TakesGroupsOfFewChannels) {
  const auto template_of = [](const char* target, int64_t channels) {
    const std::string text =
        str("tcc: 1\nname: groups\ninputs: {x: {dtype: bf16, shape: [64, 28, 28, ", 32 * channels,
            "]}}\nweights: {w: {dtype: bf16, shape: [", 32 * channels, ", ", channels,
            ", 3, 3], init: {normal: 0.1}}}\nnodes:\n"
            "  - {out: image, op: permute, in: [x], dims: [0, 3, 1, 2]}\n"
            "  - {out: c, op: conv2d, in: [image, w], groups: 32, padding: 1}\n"
            "  - {out: y, op: permute, in: [c], dims: [0, 2, 3, 1]}\noutputs: [y]\n");
    const ir::Graph graph = parse_yaml_graph(text, "groups.yaml", ".").bind({});
    return std::string(backends::schedule(graph, sched::target_by_name(target))
                           .regions.at(0)
                           .candidate()
                           .kernel_template()
                           .name());
  };
  for (const char* target : {"cuda:sm_90a", "cuda:sm_80", "vulkan:nvidia", "vulkan:amd-rdna"})
    EXPECT_EQ(template_of(target, 4), "depthwise") << target;
  EXPECT_EQ(template_of("cuda:sm_90a", 32), "gemm_sm90");
}

}  // namespace
}  // namespace tcc::test
