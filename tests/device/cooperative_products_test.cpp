// Random products and convolutions on the cooperative matrices of Vulkan, with random configs,
// against the reference. They need a device that has such units, as current versions of lavapipe
// do, and a GLSL compiler that knows them.
#include <cstdlib>
#include <utility>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/device.h"
#include "scheduler/source_compiler.h"
#include "tests/drawn_products.h"
#include "tests/open_products.h"
#include "tests/random_convolutions.h"

namespace tcc::test {
namespace {

// The first Vulkan device with units that multiply these types; null: there is none.
std::shared_ptr<runtime::Device> device_for(DType a, DType b, DType sum) {
  ::setenv("TCC_MATRIX_UNITS", "coopmat,coopmat_mma", 1);  // of software devices, too
  for (int number = 0; number < 8; ++number) try {
      auto device = runtime::open_device(str("vulkan:", number));
      if (device->target().multiplies("coopmat", a, b, sum)) return device;
    } catch (const Error&) { break; }
  return nullptr;
}

// Whether a few products surely have a kernel of the kind that is tested.
bool of_first_seeds() { return std::getenv("TCC_PRODUCTS_SEED") == nullptr; }

// Some of the kernels are of the template.
void check(DType a, DType b, DType sum, const char* extension, const Draw& draw, int64_t least = 3,
           const std::function<void(const exec::KernelBinary&)>& look = {}) {
  const std::shared_ptr<runtime::Device> device = device_for(a, b, sum);
  if (!device)
    GTEST_SKIP() << "no Vulkan device has cooperative matrices of " << name(a) << " and "
                 << name(b);
  if (const std::string why = sched::lacking_extension(sched::Api::vulkan, extension); !why.empty())
    GTEST_SKIP() << why;
  int64_t used = 0;
  const int64_t count = draws("TCC_PRODUCTS_COUNT", least);
  check_products_on(device, "coopmat", draw, number_from("TCC_PRODUCTS_SEED", 1), count,
                    [&](const exec::Executable& executable) {
                      for (const exec::KernelBinary& kernel : executable.kernels) {
                        used += kernel.template_name == "gemm_coopmat";
                        if (look) look(kernel);
                      }
                    });
  EXPECT_TRUE(used > 0 || !of_first_seeds()) << "no product is on the units";
}

Draw of_type(const char* dtype, Product (*draw)(std::mt19937_64&)) {
  return [=](std::mt19937_64& random) {
    Product product = draw(random);
    product.dtype = dtype;
    product.tf32 = false;
    return product;
  };
}

// Products whose text lacks these words: bytes of one sign, as units multiply them.
Draw without(const char* unwanted, Product (*draw)(std::mt19937_64&)) {
  return [=](std::mt19937_64& random) {
    for (;;) {
      Product product = draw(random);
      if (product.text.find(unwanted) == std::string::npos) return product;
    }
  };
}

// Both operands along k, in lines of whole chunks, whose tiles come in pairs.
Product draw_lines(std::mt19937_64& random) {
  const int64_t m = pick(random, {1, 9, 64, 70, 128, 200, 257}),
                n = pick(random, {8, 33, 64, 96, 130, 256}),
                k = pick(random, {32, 64, 72, 96, 128, 200, 264, 1000});
  Product product;
  product.fixed = {{"paired", 1}, {"stages", 1}};
  product.text =
      str("tcc: 1\nname: lines\ninputs:\n  x: {dtype: f32, shape: ", shape({m, k}),
          "}\n  w: {dtype: f32, shape: ", shape({n, k}), "}\n  b: {dtype: f32, shape: ", shape({n}),
          "}\nnodes: [{out: y, op: linear, in: [x, w, b]}]\noutputs: [y]\n");
  return product;
}

// The same as windows of an image whose channels are last in memory. 36 taps are more than a thread
// has bits for.
Product draw_line_convolution(std::mt19937_64& random) {
  const int64_t c = pick(random, {8, 24, 32, 64}), o = pick(random, {8, 40, 64}),
                kernel = pick(random, {1, 3, 6}), direct = pick(random, {0, 0, 1, 2});
  Product product;
  product.fixed = direct > 0 ? std::map<std::string, int64_t>{{"direct", direct}}
                             : std::map<std::string, int64_t>{{"paired", 1}, {"stages", 1}};
  product.text = str("tcc: 1\nname: lines\ninputs:\n  x: {dtype: f32, shape: ",
                     shape({pick(random, {1, 3}), pick(random, {7, 16}), pick(random, {9, 20}), c}),
                     "}\n  w: {dtype: f32, shape: ", shape({o, kernel, kernel, c}),
                     "}\nnodes:\n  - {out: xt, op: permute, in: [x], dims: [0, 3, 1, 2]}\n"
                     "  - {out: wt, op: permute, in: [w], dims: [0, 3, 1, 2]}\n"
                     "  - {out: y, op: conv2d, in: [xt, wt], padding: ",
                     pick(random, {0, 1}), ", stride: ", pick(random, {1, 2}), "}\noutputs: [y]\n");
  return product;
}

// Sums of an odd number of tiles, which slices share. Where load hooks compute both operands, as m
// and n are no whole chunks, nothing else makes products past the end zero.
Product draw_shared_sums(std::mt19937_64& random) {
  const int64_t m = pick(random, {130, 131, 132}), n = pick(random, {65, 100, 128}),
                k = pick(random, {48, 80, 112, 176, 208});
  Product product;
  product.fixed = {{"slices", pick(random, {2, 4})}, {"block_k", 16}};
  product.text = str("tcc: 1\nname: sums\ninputs:\n  x: {dtype: f32, shape: ", shape({k, m}),
                     "}\n  w: {dtype: f32, shape: ", shape({k, n}),
                     "}\nnodes:\n  - {out: t, op: transpose, in: [x], dim0: 0, dim1: 1}\n"
                     "  - {out: y, op: matmul, in: [t, w]}\noutputs: [y]\n");
  return product;
}

// Rows and sums that come at run time, in whole chunks.
OpenProduct draw_open_lines(std::mt19937_64& random) {
  OpenProduct product;
  product.open = {"M"};
  product.multiple = 8;
  product.fixed = random() % 2 == 0
                      ? std::map<std::string, int64_t>{{"paired", 1}, {"stages", 1}}
                      : std::map<std::string, int64_t>{{"slices", pick(random, {2, 4})}};
  product.text = str("tcc: 1\nname: lines\ndims: {M: 64}\ninputs:\n  x: {dtype: f32, shape: [",
                     pick(random, {0, 1}) == 0 ? "M" : "72", ", M]}\n  w: {dtype: f32, shape: [",
                     pick(random, {8, 33, 64, 130}),
                     ", M]}\nnodes: [{out: y, op: linear, in: [x, w]}]\noutputs: [y]\n");
  return product;
}

Product float_convolution(std::mt19937_64& random) {
  return draw_convolution(random, ConvolutionKind::floats);
}

constexpr const char* kMatrices = "GL_KHR_cooperative_matrix";

TEST(CooperativeProducts, OfF16AgreeWithTheReference) {
  check(DType::f16, DType::f16, DType::f32, kMatrices, of_type("f16", draw_product));
}
TEST(CooperativeProducts, OfBf16AgreeWithTheReference) {
  check(DType::bf16, DType::bf16, DType::f32, "GL_EXT_bfloat16", of_type("bf16", draw_product));
}
TEST(CooperativeProducts, OfSignedBytesAreExact) {
  check(DType::i8, DType::i8, DType::i32, kMatrices, without("dtype: u8", draw_byte_product));
}
TEST(CooperativeProducts, OfUnsignedBytesAreExact) {
  check(DType::u8, DType::u8, DType::u32, kMatrices, without("dtype: i8", draw_byte_product));
}
TEST(CooperativeProducts, ConvolutionsAgreeWithTheReference) {
  check(DType::f16, DType::f16, DType::f32, kMatrices, of_type("f16", float_convolution));
}
// Images of few channels: as they are, and by halves of chunks of a copy.
TEST(CooperativeProducts, StemsAgreeWithTheReference) {
  check(DType::f16, DType::f16, DType::f32, kMatrices, of_type("f16", draw_stem), 8);
}
TEST(CooperativeProducts, PairedTilesAgreeWithTheReference) {
  int64_t paired = 0;
  const auto look = [&](const exec::KernelBinary& kernel) {
    paired += kernel.config.find("paired=1") != std::string::npos;
  };
  check(DType::f16, DType::f16, DType::f32, kMatrices, of_type("f16", draw_lines), 6, look);
  if (IsSkipped()) return;
  const auto has_paired = [&] { return !of_first_seeds() || std::exchange(paired, 0) > 0; };
  EXPECT_TRUE(has_paired());
  check(DType::f16, DType::f16, DType::f32, kMatrices, of_type("f16", draw_line_convolution), 6,
        look);
  EXPECT_TRUE(has_paired());
}

TEST(CooperativeProducts, SlicesShareSums) {
  int64_t shared = 0;
  check(DType::f16, DType::f16, DType::f32, kMatrices, of_type("f16", draw_shared_sums), 8,
        [&](const exec::KernelBinary& kernel) {
          shared += kernel.config.find("slices=") != std::string::npos &&
                    kernel.config.find("slices=1") == std::string::npos;
        });
  if (IsSkipped()) return;
  EXPECT_TRUE(shared > 0 || !of_first_seeds());
}

// Sizes of rows and batches come at run time.
void check_open(const DrawOpen& draw, int64_t count) {
  const std::shared_ptr<runtime::Device> device = device_for(DType::f16, DType::f16, DType::f32);
  if (!device) GTEST_SKIP() << "no Vulkan device has cooperative matrices of f16";
  if (const std::string why = sched::lacking_extension(sched::Api::vulkan, kMatrices); !why.empty())
    GTEST_SKIP() << why;
  const auto of_f16 = [&](std::mt19937_64& random) {
    OpenProduct product = draw(random);
    product.dtype = "f16";
    product.tf32 = false;
    return product;
  };
  check_open_products(device, "coopmat", "gemm_coopmat", of_f16, count);
}
TEST(CooperativeProducts, OfOpenRowsAndBatchesAgreeWithTheReference) {
  check_open(draw_open_product, 4);
}
TEST(CooperativeProducts, OfOpenSumsAreSharedAndComeInPairs) { check_open(draw_open_lines, 6); }

}  // namespace
}  // namespace tcc::test
