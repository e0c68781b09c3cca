// Random products and convolutions of bytes on FMA units by Vulkan's integer dot products, with
// random configs, against the reference. A device that has them, accelerated or not, will do, as
// lavapipe.
#include "runtime/device.h"
#include "scheduler/source_compiler.h"
#include "tests/drawn_products.h"
#include "tests/open_products.h"

namespace tcc::test {
namespace {

// The first Vulkan device; null: there is none.
std::shared_ptr<runtime::Device> vulkan_device() {
  try {
    return runtime::open_device("vulkan:0");
  } catch (const Error&) { return nullptr; }
}

class ByteProducts : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = vulkan_device();
    if (!device_) GTEST_SKIP() << "no Vulkan device";
    // All devices of Vulkan 1.3 have dot products, fast or slow.
    if (device_->target().spirv_minor < 6) GTEST_SKIP() << "a device of Vulkan 1.2";
    const std::string why = sched::lacking_extension(sched::Api::vulkan, "GL_EXT_spirv_intrinsics");
    if (!why.empty()) GTEST_SKIP() << why;
  }

  // `vendor`: "nvidia" has instructions for signs that differ, "" has none.
  sched::Target packing(const std::string& vendor) const {
    sched::Target target = device_->target();
    target.byte_products = true;
    target.matrix_units.clear();
    target.vendor = vendor;
    return target;
  }

  void check(const Draw& draw, const std::string& vendor, int64_t least) {
    each_seed(least, [&](uint64_t seed, const Look& look) {
      check_product(device_, packing(vendor), seed, draw, look);
    });
  }

  // Some of the kernels multiply words of bytes.
  static void each_seed(int64_t least, const std::function<void(uint64_t, const Look&)>& run) {
    int64_t packed = 0;
    const int64_t count = draws("TCC_PRODUCTS_COUNT", least);
    const auto first = static_cast<uint64_t>(number_from("TCC_PRODUCTS_SEED", 1));
    for (uint64_t seed = first; seed < first + static_cast<uint64_t>(count); ++seed)
      run(seed, [&](const exec::Executable& executable) {
        for (const exec::KernelBinary& kernel : executable.kernels)
          packed += kernel.source.find("#define PACK 4") != std::string::npos;
      });
    EXPECT_GT(packed, 0) << "no product is made of dot products";
  }

  std::shared_ptr<runtime::Device> device_;
};

TEST_F(ByteProducts, AreExact) { check(draw_byte_product, "nvidia", 8); }
TEST_F(ByteProducts, OfSignsThatDifferAreExactWithoutSuchInstructions) {
  check(draw_byte_product, "", 8);
}
TEST_F(ByteProducts, OfConvolutionsAreExact) {
  check(draw_byte_convolution, "nvidia", 2);
  check(draw_byte_convolution, "", 2);
}

// Rows and sums of any number.
TEST_F(ByteProducts, OfOpenSizesAreExact) {
  const auto draw = [](std::mt19937_64& random) {
    OpenProduct product;
    product.open = {"M"};
    const bool sums = random() % 2 == 0;
    product.text = "tcc: 1\nname: bytes\ndims: {M: 64}\ninputs:\n";
    product.text += draw_bytes(random, "x", sums ? "[70, M]" : "[M, 70]", random() % 2 == 0);
    product.text += draw_bytes(random, "w", sums ? "[33, M]" : "[33, 70]", random() % 2 == 0);
    product.text += "nodes: [{out: y, op: linear, in: [x, w], out_dtype: i32}]\noutputs: [y]\n";
    return product;
  };
  each_seed(4, [&](uint64_t seed, const Look& look) {
    check_open_product(device_, packing(seed % 2 == 0 ? "nvidia" : ""), seed, draw, look);
  });
}

}  // namespace
}  // namespace tcc::test
