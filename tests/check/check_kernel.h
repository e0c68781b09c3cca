// Kernel text in, a pass of legalize, kernel text out.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "scheduler/kernel_parse.h"
#include "scheduler/legalize.h"
#include "scheduler/target.h"
#include "support/error.h"

namespace tcc::sched::test {

// The kernel of the text after the pass `name`; it is valid before and after.
inline Kernel after(std::string_view name, std::string_view text, const Target& target) {
  Kernel kernel = parse_kernel(text);
  verify(kernel);
  const auto passes = legalize_passes();
  const auto pass = std::ranges::find_if(passes, [&](const auto& p) { return p.name == name; });
  TCC_CHECK(pass != passes.end(), "no pass ", std::string(name));
  pass->run(kernel, target);
  verify(kernel);
  return kernel;
}

// Expects the pass to make `expected` of `text`.
inline void expect_pass(std::string_view name, const Target& target, std::string_view text,
                        std::string_view expected) {
  EXPECT_EQ(to_string(after(name, text, target)), expected);
}

}  // namespace tcc::sched::test
