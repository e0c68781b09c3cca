#include "scheduler/quirk_rules.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "backends/compile/process.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/target.h"
#include "scheduler/template.h"
#include "support/error.h"
#include "support/file.h"
#include "support/log.h"
#include "tests/coopmat_devices.h"

namespace tcc {
namespace {

std::string problem_of(const std::string& what, const std::string& api = "*") {
  std::string problem;
  const auto quirk = exec::parse_quirk(api + " | * | * | off " + what + " | r", problem);
  return quirk ? sched::misspelled(*quirk) : "does not parse: " + problem;
}

TEST(QuirkRules, NameTemplatesParametersAndValues) {
  EXPECT_EQ(problem_of("template gemm_sm80"), "");
  EXPECT_EQ(problem_of("template gem_sm80"),
            "no kernel template 'gem_sm80'; did you mean 'gemm_sm80'?");
  EXPECT_EQ(problem_of("config gemm_sm80 stages=4 band=8"), "");
  EXPECT_EQ(problem_of("config gemm_sm8 stages=4"),
            "no kernel template 'gemm_sm8'; did you mean 'gemm_sm80'?");
  EXPECT_EQ(problem_of("config gemm_sm80 band=8 stage=4"),
            "gemm_sm80 has no parameter 'stage'; did you mean 'stages'?");
  EXPECT_EQ(problem_of("config gemm_sm80 stages=40"),
            "gemm_sm80 has no config with stages=40; stages is one of 2,3,4,5");
  EXPECT_EQ(problem_of("config depthwise channels=17"), "") << "follows from the region";
  EXPECT_EQ(problem_of("config depthwise strips=32"), "") << "by rows alone";
  EXPECT_EQ(problem_of("config reduction cluster=8 kept_vectors=64"), "") << "never in one space";
  EXPECT_EQ(problem_of("config reduction cluster=16"),
            "reduction has no config with cluster=16; cluster is one of 1,2,4,8");
  EXPECT_EQ(problem_of("config gemm_sm90 swaped=1"),
            "gemm_sm90 has no parameter 'swaped'; did you mean 'swapped'?");
}

TEST(QuirkRules, NameUnitsAndApis) {
  EXPECT_EQ(problem_of("unit coopmat * bf16 bf16 *"), "");
  EXPECT_EQ(problem_of("unit *f16*"), "");
  EXPECT_EQ(problem_of("unit coopmt 16x16x16 *"),
            "no kernel template uses units 'coopmt'; did you mean 'coopmat'?");
  EXPECT_EQ(problem_of("feature int64", "vulkan"), "");
  EXPECT_EQ(problem_of("feature int64", "v*"), "");
  EXPECT_TRUE(
      problem_of("feature int64", "an_own_api").starts_with("no API 'an_own_api'; there are "));
  exec::api_of("an_own_api");
  EXPECT_EQ(problem_of("feature int64", "an_own_api"), "") << "a back end's own";
  EXPECT_EQ(problem_of("feature int64", "vulcan"), "no API 'vulcan'; did you mean 'vulkan'?");
}

// They are left out with a warning that names file and line, so that nothing shows them as active.
TEST(QuirkRules, LinesThatNameNothingAreWarnedOf) {
  const backends::TemporaryFolder folder;
  const std::string file = folder.path() / "a.quirks";
  write_file_atomic(file,
                    "tcc_quirks: 1\n* | * | * | off template gem | r\n"
                    "* | * | * | off config contraction blok_k=8 | r\n"
                    "* | * | * | off config contraction block_k=8 | r\n");
  std::vector<std::string> warnings;
  set_log_hook(
      [&](LogLevel, std::string_view, std::string_view text) { warnings.emplace_back(text); });
  ::setenv("TCC_QUIRKS", file.c_str(), 1);
  exec::use_quirks(std::nullopt);
  const exec::Target target = sched::target_by_name("vulkan:amd-rdna");
  set_log_hook({});
  ::unsetenv("TCC_QUIRKS");
  exec::use_quirks(std::nullopt);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_NE(warnings[0].find(file + ":2: no kernel template 'gem'"), std::string::npos);
  EXPECT_NE(warnings[1].find(file + ":3: contraction has no parameter 'blok_k'"),
            std::string::npos);
  ASSERT_EQ(target.switched_off.size(), 1u);
  EXPECT_EQ(target.switched_off[0].what, "contraction block_k=8");
}

class QuirkRulesOfSpaces : public test::WithGlslCompiler {
 protected:
  // Each value that the graph's spaces on the target list may be named.
  static void check(const std::string& inputs, const std::string& nodes,
                    const sched::Target& target) {
    SCOPED_TRACE(str(target.id(), " ", nodes));
    const backends::Scheduled scheduled = backends::schedule(
        parse_yaml_graph(
            str("tcc: 1\nname: g\ninputs: {", inputs, "}\nnodes: [", nodes, "]\noutputs: [y]\n"),
            "g.yaml", "."),
        target);
    for (const auto& region : scheduled.regions)
      for (const sched::Template* t : sched::templates()) {
        if (!sched::is_asked(*t, region.region(), target)) continue;
        const sched::Match match = t->match(region.region(), target);
        if (!match) continue;
        for (const sched::Parameter& parameter : (*match)->space().parameters)
          for (const int64_t value : parameter.values)
            EXPECT_EQ(problem_of(str("config ", t->name(), " ", parameter.name, "=", value)), "");
      }
  }
};

TEST_F(QuirkRulesOfSpaces, KnowEveryTemplateAndEveryValue) {
  // Other tests of the program have templates of their own.
  const std::set<std::string_view> none = {"external",        "one_thread",    "test_asked",
                                           "whole_norm",      "partial_sums",  "whole_softmax",
                                           "whole_attention", "padded_product"};
  for (const sched::Template* t : sched::templates())
    EXPECT_EQ(t->parameters().empty(), none.contains(t->name())) << t->name();
  use(true);
  std::vector<sched::Target> targets;
  for (const char* name : {"cuda:sm_80", "cuda:sm_90a", "vulkan:mali", "vulkan:amd-wmma"})
    targets.push_back(sched::target_by_name(name));
  for (const test::CoopmatDevice& device : test::coopmat_devices())
    targets.push_back(test::coopmat_target(device));
  for (const sched::Target& target : targets) {
    for (const char* dtype : {"f16", "f32", "i8"})
      check(str("x: {dtype: ", dtype, ", shape: [300, 512]}, w: {dtype: ", dtype,
                ", shape: [512, 640]}"),
            "{out: y, op: matmul, in: [x, w]}", target);
    for (const char* dtype : {"f16", "f32"}) {
      const std::string x = str("x: {dtype: ", dtype, ", shape: ");
      check(str(x, "[1, 512]}, w: {dtype: ", dtype, ", shape: [512, 640]}"),
            "{out: y, op: matmul, in: [x, w]}", target);
      check(str(x, "[4, 4, 300, 64]}"), "{out: y, op: scaled_dot_product_attention, in: [x, x, x]}",
            target);
      check(str(x, "[20, 3, 8]}, w: {dtype: ", dtype, ", shape: [1, 240, 8]}, r: {dtype: ", dtype,
                ", shape: [1, 240, 60]}"),
            "{out: y, op: lstm, in: [x, w, r]}", target);
      check(str(x, "[8, 32, 32, 96]}, w: {dtype: ", dtype, ", shape: [96, 1, 7, 7]}"),
            "{out: i, op: permute, in: [x], dims: [0, 3, 1, 2]}, "
            "{out: s, op: conv2d, in: [i, w], groups: 96, padding: 3}, "
            "{out: y, op: permute, in: [s], dims: [0, 2, 3, 1]}",
            target);
      check(str(x, "[300, 700]}"), "{out: y, op: softmax, in: [x], dim: 1}", target);
      check(str(x, "[4, 100000]}"), "{out: y, op: softmax, in: [x], dim: 1}", target);
      check(str(x, "[8, 96, 32, 32]}, w: {dtype: ", dtype, ", shape: [96, 1, 7, 7]}"),
            "{out: y, op: conv2d, in: [x, w], groups: 96, padding: 3}", target);
      check(str(x, "[300, 700]}"), "{out: y, op: cumsum, in: [x], dim: 1}", target);
      check(str(x, "[300, 700]}"), "{out: [y, i], op: sort, in: [x], dim: 1}", target);
      check(str(x, "[256, 512]}, w: {dtype: ", dtype, ", shape: [512, 256]}"),
            "{out: t, op: permute, in: [x], dims: [1, 0]}, {out: y, op: add, in: [t, w]}", target);
    }
  }
}

}  // namespace
}  // namespace tcc
