// Random matrix products with random configs of every template that takes them, against the
// reference.
#include <atomic>
#include <thread>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/device.h"
#include "tests/drawn_products.h"

namespace tcc::test {
namespace {

// The operands are f8 or are converted to it.
Product draw_f8_product(std::mt19937_64& random) {
  auto pick = [&](std::initializer_list<int64_t> from) { return test::pick(random, from); };
  auto size = [&] { return pick({1, 3, 8, 16, 64, 65, 96, 127, 128, 200, 256, 300, 515, 640}); };
  const int64_t m = size(), n = size(), batch = pick({1, 1, 1, 2, 5});
  int64_t k = pick({32, 33, 64, 100, 128, 192, 250, 257, 512, 1030, 2048, 4096, 8191, 8192});
  if (m * n * batch * k < (int64_t{1} << 18)) k = 8192;       // worth a matrix unit
  if (m * n * batch > (int64_t{1} << 17)) k = k % 1024 + 32;  // the reference takes its time
  const bool b_shared = random() % 2 == 0;
  const char* const kinds[] = {"f8e4m3", "f8e5m2"};
  Product product;
  product.tf32 = random() % 3 == 0;
  std::string& text = product.text;
  text = "tcc: 1\nname: product\ninputs:\n";
  std::string nodes, operands;
  auto draw_operand = [&](const std::string& name, int64_t count, int64_t rows, int64_t columns) {
    const std::string kind = kinds[random() % 2];
    const bool turned = random() % 3 == 0, converted = random() % 5 == 0;
    text += str("  ", name, ": {dtype: ", converted ? "bf16" : kind,
                ", shape: ", turned ? shape({count, columns, rows}) : shape({count, rows, columns}),
                "}\n");
    std::string last = name;
    if (converted) {
      nodes += str("  - {out: ", name, "c, op: to, in: [", last, "], dtype: ", kind, "}\n");
      last = name + "c";
    }
    if (turned) {
      nodes += str("  - {out: ", name, "t, op: transpose, in: [", last, "], dim0: 1, dim1: 2}\n");
      last = name + "t";
    }
    operands += (operands.empty() ? "" : ", ") + last;
  };
  draw_operand("a", batch, m, k);
  draw_operand("b", b_shared ? 1 : batch, k, n);
  const char* const results[] = {"f32", "bf16", "f16"};
  text += str("  bias: {dtype: f32, shape: ", shape({n}), "}\nnodes:\n", nodes,
              "  - {out: p, op: matmul, in: [", operands, "], out_dtype: ", results[random() % 3],
              "}\n");
  switch (pick({0, 1, 2})) {
    case 0: text += "outputs: [p]\n"; break;
    case 1: text += "  - {out: y, op: add, in: [p, bias]}\noutputs: [y]\n"; break;
    default:
      text +=
          "  - {out: q, op: mul, in: [p, 0.125]}\n  - {out: r, op: gelu, in: [q]}\n"
          "  - {out: y, op: to, in: [r], dtype: f8e4m3}\noutputs: [y, q]\n";
  }
  return product;
}

TEST(MatrixProducts, OnWgmmaAgreeWithTheReference) { check_products("wgmma", draw_product); }
TEST(MatrixProducts, OnMmaAgreeWithTheReference) { check_products("mma", draw_product); }
// Workgroups share k.
Draw in_parts(const Draw& draw) {
  return [draw](std::mt19937_64& random) {
    Product product = draw(random);
    product.fixed["split_k"] = pick(random, {2, 3, 4, 5, 8, 13, 16});
    return product;
  };
}
// How many kernels of mma.sync share k.
int64_t split_kernels(const exec::Executable& executable) {
  return std::ranges::count_if(executable.kernels, [](const exec::KernelBinary& kernel) {
    return kernel.template_name == "gemm_sm80" &&
           kernel.config.find("split_k=1 ") == std::string::npos;
  });
}
void check_in_parts(const Draw& draw) {
  int64_t split = 0;
  check_products("mma", in_parts(draw),
                 [&](const exec::Executable& executable) { split += split_kernels(executable); });
  if (!::testing::Test::IsSkipped()) { EXPECT_GT(split, 0); }
}
TEST(MatrixProducts, InPartsOnMmaAgreeWithTheReference) { check_in_parts(draw_product); }
TEST(MatrixProducts, OfBytesInPartsOnMmaAreExact) { check_in_parts(draw_byte_product); }
TEST(MatrixProducts, ConvolutionsOfBytesInPartsOnMmaAreExact) {
  check_in_parts(draw_byte_convolution);
}

// Whichever workgroups come last: alone, and where two contexts share the device.
TEST(MatrixProducts, InPartsOnMmaRepeatTheirBits) {
  const auto device = runtime::open_device("cuda:0");
  sched::Target target = device->target();
  if (!target.has_matrix_unit("mma")) GTEST_SKIP() << target.id() << " has no mma";
  target.matrix_units = exec::units_of_kinds(target.matrix_units, {"mma"});
  const ir::Graph graph =
      parse_yaml_graph(
          "tcc: 1\nname: linear\ninputs:\n  x: {dtype: bf16, shape: [96, 6144]}\n"
          "  w: {dtype: bf16, shape: [640, 6144]}\n"
          "  v: {dtype: bf16, shape: [6144, 640]}\nnodes:\n"
          "  - {out: h, op: linear, in: [x, w]}\n"
          "  - {out: g, op: linear, in: [h, v]}\n"
          "  - {out: y, op: linear, in: [g, w]}\noutputs: [y]\n",
          "linear.yaml", ".")
          .bind({});
  const std::vector<Tensor> inputs = draw_inputs(graph, {.lo = -1, .hi = 1, .seed = 1});
  for (const int64_t parts : {2, 3, 5, 8, 13, 16}) {
    const RandomConfigs configs(static_cast<uint64_t>(parts), {{"split_k", parts}});
    backends::CompileOptions options;
    options.configs = &configs;
    exec::Executable executable = backends::compile(graph, target, options);
    EXPECT_GT(split_kernels(executable), 0);
    const auto program = std::make_shared<const runtime::Program>(device, std::move(executable));
    const auto bits_of = [&](runtime::Context& context) {
      const std::vector<Tensor> outputs = context.run(inputs);
      const std::span<const std::byte> bytes = outputs[0].as<std::byte>();
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    runtime::Context alone(program);
    const std::vector<std::byte> first = bits_of(alone);
    std::atomic<int> different = 0;
    const auto repeat = [&] {
      runtime::Context context(program);
      for (int run = 0; run < 200; ++run) different += bits_of(context) != first;
    };
    std::thread other(repeat);
    repeat();
    other.join();
    EXPECT_EQ(different, 0) << parts;
    // Each step alone, over outputs of another run.
    const size_t steps = program->executable().steps.size();
    std::vector<Tensor> zeros;
    for (const Tensor& input : inputs) zeros.emplace_back(input.dtype(), input.shape());
    alone.run(zeros);
    alone.set_inputs(inputs);
    for (size_t i = 0; i < steps; ++i)
      if (std::holds_alternative<exec::KernelLaunch>(program->executable().steps[i]))
        for (int time = 0; time < 2; ++time) alone.run_step(i);
    const std::vector<Tensor> outputs = alone.outputs();
    const std::span<const std::byte> bytes = outputs[0].as<std::byte>();
    EXPECT_TRUE(std::ranges::equal(bytes, first)) << parts;
  }
}

TEST(MatrixProducts, OnFmaUnitsAgreeWithTheReference) {
  check_products(nullptr, [](std::mt19937_64& random) {
    Product product = draw_product(random);
    product.dtype.clear();
    product.tf32 = false;
    return product;
  });
}
// Where bulk copies bring both operands to FMA units.
TEST(MatrixProducts, OfExactF32ByBulkCopiesAgreeWithTheReference) {
  int64_t copied = 0;
  check_products(
      "wgmma",
      [](std::mt19937_64& random) {
        auto size = [&] { return pick(random, {12, 36, 60, 64, 96, 128, 200, 256, 516, 640}); };
        const int64_t m = size(), n = std::max(m < 64 ? int64_t{128} : 0, size()),
                      k = pick(random, {128, 192, 260, 512, 1028, 2048}),
                      batch = pick(random, {1, 1, 2});
        const bool turned = random() % 2 == 0, a_turned = random() % 2 == 0;
        Product product;
        product.text =
            str("tcc: 1\nname: product\ninputs:\n  a: {dtype: f32, shape: ",
                a_turned ? shape({batch, k, m}) : shape({batch, m, k}),
                "}\n  b: {dtype: f32, shape: ", turned ? shape({n, k}) : shape({k, n}),
                "}\n  c: {dtype: f32, shape: ", shape({batch, m, n}), "}\nnodes:\n",
                a_turned ? "  - {out: t, op: transpose, in: [a], dim0: 1, dim1: 2}\n" : "",
                "  - {out: p, op: ", turned ? "linear" : "matmul", ", in: [", a_turned ? "t" : "a",
                ", b]}\n",
                random() % 2 ? "  - {out: y, op: add, in: [p, c]}\n"
                             : "  - {out: y, op: gelu, in: [p]}\n",
                "outputs: [y]\n");
        return product;
      },
      [&](const exec::Executable& executable) {
        copied +=
            std::ranges::count(executable.kernels, "fma_sm90", &exec::KernelBinary::template_name);
      });
  if (!::testing::Test::IsSkipped()) { EXPECT_GT(copied, 0); }
}
TEST(MatrixProducts, OfBytesOnWgmmaAreExact) { check_products("wgmma", draw_byte_product); }
TEST(MatrixProducts, OfBytesOnMmaAreExact) { check_products("mma", draw_byte_product); }
TEST(MatrixProducts, OfBytesOnFmaUnitsAreExact) { check_products(nullptr, draw_byte_product); }
TEST(MatrixProducts, OfF8OnWgmmaAgreeWithTheReference) { check_products("wgmma", draw_f8_product); }
TEST(MatrixProducts, OfF8OnMmaAgreeWithTheReference) { check_products("mma", draw_f8_product); }
TEST(MatrixProducts, ConvolutionsOfBytesOnWgmmaAreExact) {
  check_products("wgmma", draw_byte_convolution);
}
TEST(MatrixProducts, ConvolutionsOfBytesOnMmaAreExact) {
  check_products("mma", draw_byte_convolution);
}

// Sums beyond 32 bits wrap as those of integers do, whatever parts they are made of.
TEST(MatrixProducts, SumsOfBytesWrap) {
  for (const char* unit : {"wgmma", "mma"})
    for (const char* dtype : {"i32", "u32"}) {
      const Product product{str("tcc: 1\nname: product\ninputs:\n"
                                "  a: {dtype: u8, shape: [24, 100000], range: [250, 256]}\n"
                                "  b: {dtype: u8, shape: [40, 100000], range: [250, 256]}\n"
                                "nodes: [{out: y, op: linear, in: [a, b], out_dtype: ",
                                dtype, "}]\noutputs: [y]\n"),
                            "", false};
      check_products(
          unit, [&](std::mt19937_64&) { return product; }, 4, 4);
    }
}

}  // namespace
}  // namespace tcc::test
