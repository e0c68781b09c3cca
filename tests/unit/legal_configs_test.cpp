// Every config that a space allows becomes a kernel that compiles, on tensors as small as they get.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

#include "backends/compile/code.h"
#include "backends/emit/emit.h"
#include "frontend/graph_file.h"
#include "scheduler/kernel_parse.h"
#include "support/error.h"
#include "tests/draws.h"
#include "tests/unit/search_fixture.h"

namespace tcc::autotune {
namespace {

struct Tiny {
  const char* inputs;
  const char* node;
};

const Tiny kTiny[] = {
    {"x: {dtype: f32, shape: [3]}", "op: silu, in: [x]"},
    {"x: {dtype: bf16, shape: [5, 3]}", "op: gelu, in: [x]"},
    {"x: {dtype: f32, shape: [1]}", "op: sum, in: [x], dim: 0"},
    {"x: {dtype: f16, shape: [3, 7]}", "op: softmax, in: [x], dim: 0"},
    {"x: {dtype: f32, shape: [2, 5]}", "op: argmax, in: [x], dim: 1"},
    {"x: {dtype: f32, shape: [3, 2]}", "op: permute, in: [x], dims: [1, 0]"},
    {"x: {dtype: f32, shape: [3, 5]}", "op: cumsum, in: [x], dim: 1"},
    {"x: {dtype: f32, shape: [2, 3]}", "op: argsort, in: [x], dim: 1"},
    {"x: {dtype: f32, shape: [5, 4]}, v: {dtype: bool, shape: [5]}",
     "op: suppress, in: [x, v, 0.5]"},
    {"x: {dtype: f32, shape: [2, 3]}, w: {dtype: f32, shape: [3, 5]}", "op: matmul, in: [x, w]"},
    {"x: {dtype: f16, shape: [1, 2, 3, 3]}, w: {dtype: f16, shape: [3, 2, 2, 2]}",
     "op: conv2d, in: [x, w], padding: 1"},
    {"x: {dtype: f16, shape: [1, 4, 5, 5]}, w: {dtype: f16, shape: [4, 1, 2, 2]}",
     "op: conv2d, in: [x, w], groups: 4"},
};

// Emitting is cheap; of the texts, which many configs share, every n-th is compiled.
void check(const char* target, size_t most_compiled) {
  for (const auto& [inputs, node] : kTiny) {
    const TemplateCase made(inputs, node, target);
    std::set<std::string> sources;
    made.space.enumerate([&](const sched::Config& config) {
      try {
        const sched::Kernel kernel =
            sched::legalize(made.candidate().lower(config).only(), made.target);
        sources.insert(backends::emit(kernel, made.target).source);
        const std::string text = sched::to_string(kernel);
        const sched::Kernel read = sched::parse_kernel(text);
        sched::verify(read);
        EXPECT_EQ(sched::to_string(read), text);
      } catch (const std::exception& error) {
        ADD_FAILURE() << target << " " << node << " " << config.to_string() << ": " << error.what();
      }
      return !::testing::Test::HasFailure();
    });
    const size_t compiled = test::draws(most_compiled);
    const size_t step = (sources.size() + compiled - 1) / compiled;
    size_t number = 0;
    for (const std::string& source : sources) {
      if (number++ % step != 0) continue;
      try {
        backends::compile_source(source, "kernel", made.target, nullptr, false);
      } catch (const Error& error) {
        ADD_FAILURE() << target << " " << node << ": " << error.what() << "\n" << source;
        return;
      }
    }
  }
}

TEST(LegalConfigs, BecomeShaders) {
  if (const std::string why = backends::backend_for(sched::Api::vulkan).compiler_missing();
      !why.empty())
    GTEST_SKIP() << why;
  check("vulkan:lavapipe", 24);
  check("vulkan:mali", 6);
}

TEST(LegalConfigs, BecomeCudaKernels) {
  if (const std::string why = backends::backend_for(sched::Api::cuda).compiler_missing();
      !why.empty())
    GTEST_SKIP() << why;
  check("cuda:sm_90a", 6);
}

// The tail of three elements, with two vectors of eight for each thread: its loop and a shared
// part of silu had one name.
TEST(LegalConfigs, TailsAndSharedPartsHaveNamesOfTheirOwn) {
  const TemplateCase made(kTiny[0].inputs, kTiny[0].node, "vulkan:lavapipe");
  sched::Config config = made.default_config;
  config.set("threads", 32);
  config.set("vector", 8);
  config.set("vectors", 2);
  ASSERT_EQ(made.space.violation(config), "");
  const sched::Kernel kernel = sched::legalize(made.candidate().lower(config).only(), made.target);
  backends::EmitOptions options;
  options.library = false;
  const std::string source = backends::emit(kernel, made.target, options).source;
  const std::regex declaration("\\b(?:i32|u32|f32) (\\w+) = ");
  std::multiset<std::string> names;
  for (std::sregex_iterator at(source.begin(), source.end(), declaration), end; at != end; ++at)
    names.insert((*at)[1]);
  EXPECT_GE(names.size(), 3u) << source;
  for (const std::string& name : names) EXPECT_EQ(names.count(name), 1u) << name << source;
}

}  // namespace
}  // namespace tcc::autotune
