// The tests of the public interfaces share these helpers. Like users, they include no internal
// header of the library.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tcc/tcc.hpp"
#include "tests/source_dir.h"

namespace tcc::testing {

inline std::string mlp() { return (source_dir() / "configs/models/mlp.yaml").string(); }

// Small numbers without a pattern, the same every time.
inline std::vector<float> numbers(std::size_t count, unsigned seed = 1) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<float>(seed >> 8) / (1 << 23) - 1;
  }
  return values;
}

inline bool has_vulkan() {
  try {
    compile(Graph::load(mlp()), "vulkan:0", {.dims = {{"B", 1}}});
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::no_device) << error.what();
    return false;
  }
}

inline void expect_near(std::span<const float> got, std::span<const float> expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-5) << i;
}

}  // namespace tcc::testing
