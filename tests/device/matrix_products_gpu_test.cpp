// Random matrix products with random configs of every template that takes them, against the
// reference.
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
