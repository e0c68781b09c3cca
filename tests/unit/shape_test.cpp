// Shapes and offsets: index arithmetic over several dims (ir/symint.h).
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ir/symint.h"

namespace tcc::ir {
namespace {

// Every way of splitting 360 into factors, applied to an offset and undone.
TEST(Shapes, ReshapesCancel) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    const auto random_shape = [&] {
      Shape shape;
      for (const int64_t prime : {2, 2, 2, 3, 3, 5}) {
        if (shape.empty() || random() % 2 == 0)
          shape.push_back(prime);
        else
          shape.back() = shape.back() * prime;
      }
      return shape;
    };
    const Shape from = random_shape(), through = random_shape();
    std::vector<SymInt> axes;
    for (size_t d = 0; d < from.size(); ++d)
      axes.push_back(SymInt::axis("i" + std::to_string(d), from[d]));
    const SymInt flat = SymInt::axis("flat", product(from));
    EXPECT_EQ(linearize(delinearize(flat, from), from), flat) << to_string(from);
    const SymInt offset = linearize(axes, from);
    const SymInt back = linearize(delinearize(offset, through), through);
    EXPECT_EQ(back, offset) << to_string(from) << " through " << to_string(through);
    const std::vector<SymInt> index = delinearize(back, from);
    for (size_t d = 0; d < from.size(); ++d) EXPECT_EQ(index[d], axes[d]) << to_string(from);
  }
}

}  // namespace
}  // namespace tcc::ir
