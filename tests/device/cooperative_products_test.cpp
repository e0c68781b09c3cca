// Random products and convolutions on the cooperative matrices of Vulkan, with random configs,
// against the reference. They need a device that has such units, as current versions of lavapipe
// do, and a GLSL compiler that knows them.
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
  ::setenv("TCC_MATRIX_UNITS", "coopmat", 1);  // of software devices, too
  for (int number = 0; number < 8; ++number) try {
      auto device = runtime::open_device(str("vulkan:", number));
      if (device->target().multiplies("coopmat", a, b, sum)) return device;
    } catch (const Error&) { break; }
  return nullptr;
}

// Some of the kernels are of the template.
void check(DType a, DType b, DType sum, const char* extension, const Draw& draw) {
  const std::shared_ptr<runtime::Device> device = device_for(a, b, sum);
  if (!device)
    GTEST_SKIP() << "no Vulkan device has cooperative matrices of " << name(a) << " and "
                 << name(b);
  if (const std::string why = sched::lacking_extension(sched::Api::vulkan, extension); !why.empty())
    GTEST_SKIP() << why;
  int64_t used = 0;
  const int64_t count = number_from("TCC_PRODUCTS_COUNT", 3);
  check_products_on(device, "coopmat", draw, number_from("TCC_PRODUCTS_SEED", 1), count,
                    [&](const exec::Executable& executable) {
                      for (const exec::KernelBinary& kernel : executable.kernels)
                        used += kernel.template_name == "gemm_coopmat";
                    });
  EXPECT_GT(used, 0) << "no product is on the units";
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

// Sizes of rows and batches come at run time.
void check_open(const DrawOpen& draw) {
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
  check_open_products(device, "coopmat", "gemm_coopmat", of_f16, 4);
}
TEST(CooperativeProducts, OfOpenRowsAndBatchesAgreeWithTheReference) {
  check_open(draw_open_product);
}

}  // namespace
}  // namespace tcc::test
