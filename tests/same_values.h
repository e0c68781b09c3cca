// Rewritten graphs compute what the given ones do, by the reference.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "ir/reference/interpreter.h"
#include "tests/run_graph.h"

namespace tcc::test {

inline std::vector<ir::RefTensor> draw_values(const ir::Graph& graph, const DrawOptions& options) {
  std::vector<ir::RefTensor> values;
  for (const Tensor& input : draw_inputs(graph, options)) values.push_back(ir::to_ref(input));
  return values;
}

// Expects the first result of both to be the same in f64, but for 1e-12; infinities and NaN count.
inline void expect_same_values(const ir::Graph& given, const ir::Graph& other,
                               const std::vector<ir::RefTensor>& values, const std::string& said) {
  const auto expected = ir::interpret(given, values, ir::RefMode::ideal),
             found = ir::interpret(other, values, ir::RefMode::ideal);
  ASSERT_EQ(found[0].shape, expected[0].shape) << said;
  for (size_t i = 0; i < expected[0].f.size(); ++i) {
    const double one = expected[0].f[i], another = found[0].f[i];
    if (std::isnan(one))
      ASSERT_TRUE(std::isnan(another)) << said << i;
    else if (std::isinf(one))
      ASSERT_EQ(another, one) << said << i;
    else
      ASSERT_NEAR(another, one, 1e-12) << said << i;
  }
}

}  // namespace tcc::test
