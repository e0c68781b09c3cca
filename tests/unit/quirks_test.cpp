// Quirk files: what a line means, versions, files that are damaged or mean harm, and what targets,
// templates and the look-up of configs make of them.
#include "executable/quirks.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "autotune/records.h"
#include "autotune/tune.h"
#include "backends/compile/process.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/passed_templates.h"
#include "scheduler/template.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/expect_error.h"

namespace tcc::exec {
namespace {

Quirk one(const std::string& line) {
  std::string problem;
  const auto quirk = parse_quirk(line, problem);
  EXPECT_TRUE(quirk) << line << ": " << problem;
  return quirk.value_or(Quirk());
}

std::string problem_of(const std::string& line) {
  std::string problem;
  EXPECT_FALSE(parse_quirk(line, problem)) << line;
  return problem;
}

Target h200() {
  Target target;
  target.api = Api::vulkan;
  target.device = "NVIDIA H200";
  target.driver = "NVIDIA 580.159.03";
  target.matrix_units = {*parse_matrix_unit("coopmat 16x16x16 f16 f16 f32 f32"),
                         *parse_matrix_unit("coopmat 16x8x16 f16 f16 f32 f32"),
                         *parse_matrix_unit("coopmat 16x16x16 bf16 bf16 f32 f32")};
  return target;
}

TEST(Quirks, DriversHaveANameAndAVersion) {
  const auto check = [](const char* text, const char* name, std::vector<int64_t> version) {
    const DriverVersion of = driver_version(text);
    EXPECT_EQ(of.name, name) << text;
    EXPECT_EQ(of.version, version) << text;
  };
  check("llvmpipe Mesa 22.3.6 (LLVM 15.0.6)", "llvmpipe Mesa", {22, 3, 6});
  check("NVIDIA 580.159.03", "NVIDIA", {580, 159, 3});
  check("580.95.05, CUDA 13.0", "", {580, 95, 5});
  check("CUDA 13.0", "CUDA", {13, 0});
  check("radv Mesa 25.0.7-2~bpo12+1", "radv Mesa", {25, 0, 7});
  check("Qualcomm Adreno", "Qualcomm Adreno", {});
  check("", "", {});
  check("x 99999999999999999999.1", "x", {});
}

TEST(Quirks, VersionsLieInRangesToWhichBothEndsBelong) {
  const Target target = h200();
  for (const char* driver :
       {"*", "NVIDIA", "NVIDIA 580", "NVIDIA 580..580", "NVIDIA 580.159", "NVIDIA 580.159.3",
        "NVIDIA ..580", "NVIDIA 570..", "NV* 580.100..580.159", "* 1..999", "NVIDI? 580.159.03"})
    EXPECT_TRUE(one(str("vulkan | NVIDIA * | ", driver, " | tested")).is_of(target)) << driver;
  for (const char* driver : {"radv", "NVIDIA 581", "NVIDIA ..579", "NVIDIA 580.160..",
                             "NVIDIA 580.159.4", "NVIDIA ..580.158", "580", "NVIDIA 5800"})
    EXPECT_FALSE(one(str("vulkan | NVIDIA * | ", driver, " | tested")).is_of(target)) << driver;
  EXPECT_FALSE(one("cuda | * | * | tested").is_of(target));
  EXPECT_FALSE(one("vulkan | NVIDIA A100 | * | tested").is_of(target));
  Target cuda;
  cuda.api = Api::cuda;
  cuda.device = "NVIDIA H200";
  cuda.driver = "580.95.05, CUDA 13.0";
  EXPECT_TRUE(one("cuda | NVIDIA H200 | 580..580.95 | tested").is_of(cuda));
  EXPECT_FALSE(one("cuda | NVIDIA H200 | 580.96.. | tested").is_of(cuda));
  // A driver that tells no version is within no limits.
  cuda.driver = "Adreno";
  EXPECT_FALSE(one("cuda | * | Adreno 1.. | tested").is_of(cuda));
  EXPECT_TRUE(one("cuda | * | Adreno | tested").is_of(cuda));
}

TEST(Quirks, PatternsMatchWholeTextsInLinearTime) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a*c?e", "abbbcde"));
  EXPECT_FALSE(matches("a*c", "acb"));
  EXPECT_FALSE(matches("", "a"));
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "a*";
  EXPECT_FALSE(matches(pattern + "b", std::string(1900, 'a')));
}

TEST(Quirks, AreTakenFromTheTarget) {
  Target target = h200();
  target.float64 = true;
  QuirkFile file = parse_quirks(
      "tcc_quirks: 1\n"
      "# comment\n"
      "\n"
      "vulkan | NVIDIA H200 | NVIDIA 580 | off unit coopmat * bf16 bf16 * | wrong sums\n"
      "vulkan | NVIDIA H200 | NVIDIA 580 | off feature float64 | slow\r\n"
      "*|*|*|off template gemv|bad\n"
      "* | * | * | off config gemm_coopmat slots=2 ahead=1 | slow | as a rock\n"
      "vulkan | NVIDIA A* | * | off feature int64 | of another device\n"
      "* | * | * | off feature clusters | which it lacks\n",
      "q.quirks");
  EXPECT_TRUE(file.problems.empty()) << file.problems.front();
  ASSERT_EQ(file.quirks.size(), 6u);
  apply_quirks(target, file.quirks);
  EXPECT_EQ(target.matrix_units.size(), 2u);
  EXPECT_FALSE(target.float64);
  EXPECT_TRUE(target.int64);
  ASSERT_EQ(target.switched_off.size(), 4u);
  EXPECT_EQ(target.switched_off[0].what, "coopmat 16x16x16 bf16 bf16 f32 f32");
  EXPECT_EQ(target.switched_off[0].text(), "switched off by quirk q.quirks:4: wrong sums");
  EXPECT_EQ(target.why_off("gemv"), "switched off by quirk q.quirks:6: bad");
  EXPECT_EQ(target.why_off("gemm_coopmat"), "");
  EXPECT_EQ(target.switched_off[3].values,
            (std::vector<std::pair<std::string, int64_t>>{{"slots", 2}, {"ahead", 1}}));
}

// As of units that are found when a device is open already.
TEST(Quirks, AreTakenFromMoreUnits) {
  const std::vector<MatrixUnit> found = {
      *parse_matrix_unit("coopmat_mma 16x16x16 f16 f16 f32 f32"),
      *parse_matrix_unit("coopmat_mma 16x16x16 bf16 bf16 f32 f32")};
  const std::string of = "tcc_quirks: 1\nvulkan | NVIDIA H200 | NVIDIA 580 | off ";
  const auto left = [&](const std::string& text, Target& target) {
    std::vector<MatrixUnit> units = found;
    switch_off_units(units, target, parse_quirks(text, "q.quirks").quirks);
    return units;
  };
  Target target = h200();
  const std::vector<MatrixUnit> units =
      left(of + "feature float64 | slow\nvulkan | * | * | off unit * bf16 bf16 * | wrong sums\n",
           target);
  ASSERT_EQ(units.size(), 1u);
  EXPECT_EQ(to_string(units[0]), to_string(found[0]));
  ASSERT_EQ(target.switched_off.size(), 1u);
  EXPECT_EQ(target.switched_off[0].what, to_string(found[1]));
  EXPECT_EQ(target.switched_off[0].text(), "switched off by quirk q.quirks:3: wrong sums");
  EXPECT_EQ(target.matrix_units.size(), h200().matrix_units.size());
  EXPECT_TRUE(left(of + "feature matrix_units | hang\n", target).empty());
  EXPECT_EQ(target.switched_off.size(), 1u);
  EXPECT_EQ(left("tcc_quirks: 1\nvulkan | NVIDIA A* | * | off unit * | bad\n", target).size(), 2u);
}

TEST(Quirks, AreMergedOnceEachAndReadBack) {
  const std::string a =
      "tcc_quirks: 1\nvulkan | X | d 1.0 | off template gemv | first\n"
      "vulkan | X | d 1.0..2 | off feature int64 | b\n";
  const std::string b =
      "tcc_quirks: 1\nvulkan | X | d 1.0 | off template gemv | second\n"
      "vulkan | X | ..3 | tested | today\n";
  std::vector<Quirk> all = parse_quirks(a, "a").quirks;
  merge_quirks(all, parse_quirks(b, "b").quirks);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].reason, "first");
  // Files join by being joined.
  EXPECT_EQ(quirk_file_text(parse_quirks(a + b, "both").quirks), quirk_file_text(all));
  const std::string text = quirk_file_text(all);
  EXPECT_EQ(quirk_file_text(parse_quirks(text, "again").quirks), text);
  EXPECT_TRUE(is_tested(
      [] {
        Target t;
        t.api = Api::vulkan;
        t.device = "X";
        t.driver = "2.9";
        return t;
      }(),
      all));
}

TEST(Quirks, MalformedLinesAreNamedAndLeftOut) {
  EXPECT_NE(problem_of("vulkan | x | y").find("expected 'API"), std::string::npos);
  EXPECT_NE(problem_of(" | x | y | tested").find("may not be empty"), std::string::npos);
  EXPECT_NE(problem_of("vulkan | x | y | of feature int64 | r").find("expected 'tested'"),
            std::string::npos);
  EXPECT_NE(problem_of("vulkan | x | y | off feature flots | r").find("no feature 'flots'"),
            std::string::npos);
  EXPECT_NE(problem_of("vulkan | x | y | off template a b | r").find("name of a kernel template"),
            std::string::npos);
  EXPECT_NE(problem_of("vulkan | x | y | off config gemv a=b | r").find("gemm_sm80 stages=4"),
            std::string::npos);
  EXPECT_NE(problem_of("vulkan | x | y | off config gemv | r").find("values"), std::string::npos);
  EXPECT_NE(problem_of("vulkan | x | y 1..b | off feature int64 | r").find("versions"),
            std::string::npos);
  EXPECT_EQ(problem_of("vulkan | x | y 9..3 | off feature int64 | r"),
            "no version lies in 9..3: write 3..9");
  EXPECT_NE(problem_of("vulkan | x | 580.2..580.1.7 | tested"), "");
  one("vulkan | x | 580.2..580 | tested");  // as far as the limit goes
  EXPECT_NE(problem_of("vulkan | x | y .. | off feature int64 | r").find("versions"),
            std::string::npos);
  EXPECT_NE(problem_of("vulkan | x | y | off feature int64 |").find("reason"), std::string::npos);
  EXPECT_NE(problem_of(std::string("vulkan | x | y | tested | \x1b[2J")).find("text"),
            std::string::npos);
  EXPECT_NE(problem_of("vulkan | x | y | tested | \xff").find("text"), std::string::npos);
  EXPECT_NE(problem_of("vulkan | x | y | tested | \xc2\x9b").find("text"), std::string::npos);
  EXPECT_NE(problem_of(std::string(5000, 'x')).find("bytes"), std::string::npos);

  QuirkFile file = parse_quirks(
      "# first\ntcc_quirks: 1\nvulkan | x\n* | * | * | off feature int64 | r\noff\n", "f");
  EXPECT_EQ(file.quirks.size(), 1u);
  ASSERT_EQ(file.problems.size(), 2u);
  EXPECT_TRUE(file.problems[0].starts_with("f:3: ")) << file.problems[0];
  EXPECT_TRUE(file.problems[1].starts_with("f:5: ")) << file.problems[1];
  file = parse_quirks("* | * | * | off feature int64 | r\n", "f");
  EXPECT_TRUE(file.quirks.empty());
  EXPECT_EQ(file.problems.at(0), "f:1: expected 'tcc_quirks: 1' before anything else");
  file = parse_quirks("tcc_quirks: 9\n* | * | * | off feature int64 | r\n", "f");
  EXPECT_TRUE(file.quirks.empty());
  EXPECT_EQ(file.problems,
            std::vector<std::string>{
                "f:1: version '9' of quirk files is not known; this tcc reads 'tcc_quirks: 1'"});

  std::string lines = "tcc_quirks: 1\n";
  for (int i = 0; i < 20000; ++i) lines += "* | * | * | off feature int64 | r\n";
  EXPECT_EQ(parse_quirks(lines, "f").quirks.size(), 10000u);
  lines = "tcc_quirks: 1\n";
  for (int i = 0; i < 1000; ++i) lines += "junk\n";
  EXPECT_EQ(parse_quirks(lines, "f").problems.size(), 21u);
  EXPECT_TRUE(parse_quirks(std::string(1 << 16, '\0'), "f").quirks.empty());
  EXPECT_TRUE(parse_quirks("", "f").problems.empty());
  file = parse_quirks("\xef\xbb\xbftcc_quirks: 1\n* | * | * | off feature int64 | r\n", "f");
  EXPECT_TRUE(file.problems.empty());
  EXPECT_EQ(file.quirks.size(), 1u);
}

// Lines of quirk files are honoured by devices and by targets without one.
TEST(Quirks, AreReadFromTheUsersFolderAndTheEnvironment) {
  const backends::TemporaryFolder folder;
  const std::filesystem::path own = folder.path() / "tcc" / "quirks";
  std::filesystem::create_directories(own);
  write_file_atomic(own / "a.quirks", "tcc_quirks: 1\n* | * | * | off feature storage8 | r\n");
  write_file_atomic(own / "ignored.txt", "junk");
  write_file_atomic(folder.path() / "b.quirks", "tcc_quirks: 1\nbroken\n");
  ::setenv("XDG_CONFIG_HOME", folder.path().c_str(), 1);
  ::setenv("TCC_QUIRKS", (folder.path() / "b.quirks").c_str(), 1);
  use_quirks(std::nullopt);
  const std::vector<std::filesystem::path> files = quirk_files();
  EXPECT_TRUE(std::ranges::count(files, own / "a.quirks"));
  EXPECT_TRUE(std::ranges::count(files, folder.path() / "b.quirks"));
  const Target target = sched::target_by_name("vulkan:amd-rdna");
  EXPECT_FALSE(target.storage8);
  ASSERT_EQ(target.switched_off.size(), 1u);
  EXPECT_EQ(target.switched_off[0].source, (own / "a.quirks").string() + ":2");
  ::setenv("TCC_QUIRKS", "none", 1);
  use_quirks(std::nullopt);
  EXPECT_TRUE(sched::target_by_name("vulkan:amd-rdna").storage8);
  ::unsetenv("XDG_CONFIG_HOME");
  ::unsetenv("TCC_QUIRKS");
  use_quirks(std::nullopt);
}

// ---- what the compiler makes of them

class QuirksOfTemplates : public ::testing::Test {
 protected:
  // The graph's only region.
  sched::CandidatePtr candidate(const std::string& text, const Target& target) {
    const ir::Graph graph = parse_yaml_graph(text, "g.yaml", ".").bind({});
    scheduled_.push_back(backends::schedule(graph, target));
    EXPECT_EQ(scheduled_.back().regions.size(), 1u);
    return scheduled_.back().regions.at(0).shared();
  }
  static Target with(Target target, const std::string& what) {
    Quirk quirk = one("* | * | * | off " + what + " | it is wrong");
    quirk.source = "file:7";
    apply_quirks(target, std::span(&quirk, 1));
    return target;
  }
  static bool names(const std::vector<std::string>& lines, const std::string& text) {
    return std::ranges::any_of(
        lines, [&](const std::string& line) { return line.find(text) != line.npos; });
  }

  std::vector<backends::Scheduled> scheduled_;  // candidates point into them
};

constexpr const char* kRow =
    "tcc: 1\ninputs: {a: {dtype: f16, shape: [1, 512]}, b: {dtype: f16, shape: [512, 640]}}\n"
    "nodes: [{out: y, op: matmul, in: [a, b]}]\noutputs: [y]\n";
constexpr const char* kProduct =
    "tcc: 1\ninputs: {a: {dtype: f16, shape: [512, 512]}, b: {dtype: f16, shape: [512, 640]}}\n"
    "nodes: [{out: y, op: matmul, in: [a, b]}]\noutputs: [y]\n";

TEST_F(QuirksOfTemplates, TheNextTemplateTakesTheRegionAndWhyNamesTheFile) {
  const Target target = sched::target_by_name("cuda:sm_80");
  EXPECT_EQ(candidate(kRow, target)->kernel_template().name(), "gemv");
  const auto other = candidate(kRow, with(target, "template gemv"));
  EXPECT_NE(other->kernel_template().name(), "gemv");
  EXPECT_TRUE(
      names(sched::passed_templates(*other), "gemv: switched off by quirk file:7: it is wrong"));
}

TEST_F(QuirksOfTemplates, UnitsThatAreOffAreNotUsedAndWhyNamesTheFile) {
  const Target target = sched::target_by_name("cuda:sm_80");
  EXPECT_EQ(candidate(kProduct, target)->kernel_template().name(), "gemm_sm80");
  const auto other = candidate(kProduct, with(target, "unit mma *"));
  EXPECT_EQ(other->kernel_template().name(), "contraction");
  const auto lines = sched::passed_templates(*other);
  EXPECT_TRUE(names(lines, "gemm_sm80: mma ")) << testing::PrintToString(lines);
  EXPECT_TRUE(names(lines, "switched off by quirk file:7: it is wrong"));
}

TEST_F(QuirksOfTemplates, ARegionWithoutATemplateIsAnErrorThatNamesTheFile) {
  const Target target = with(sched::target_by_name("vulkan:amd-rdna"), "template pointwise");
  try {
    candidate(
        "tcc: 1\ninputs: {x: {dtype: f32, shape: [9]}}\n"
        "nodes: [{out: y, op: relu, in: [x]}]\noutputs: [y]\n",
        target);
    FAIL() << "there is a kernel";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
    EXPECT_NE(std::string(error.what()).find("pointwise: switched off by quirk file:7"),
              std::string::npos)
        << error.what();
    EXPECT_TRUE(std::string(error.what()).ends_with("remove its line, or set TCC_QUIRKS=none"))
        << error.what();
  }
}

TEST_F(QuirksOfTemplates, ConfigsThatAreOffAreNotLegal) {
  const Target target = sched::target_by_name("cuda:sm_80");
  const auto usual = candidate(kProduct, target);
  const sched::Config config = usual->default_config();
  const auto& [name, value] = *config.values().begin();
  const auto without =
      candidate(kProduct, with(target, str("config gemm_sm80 ", name, "=", value)));
  EXPECT_EQ(without->kernel_template().name(), "gemm_sm80");
  EXPECT_EQ(without->space().violation(config), "switched off by quirk file:7: it is wrong");
  EXPECT_NE(without->default_config()[name], value);
  EXPECT_EQ(without->space().violation(without->default_config()), "");
  EXPECT_TRUE(names(sched::passed_templates(*without), "switched off by quirk file:7"));
  // A record of that config does not serve any more.
  autotune::RecordStore store;
  autotune::Record record;
  const autotune::Query query = autotune::query_of(*usual);
  record.key = query.key;
  record.best = config;
  record.seconds = 1e-6;
  record.environment = query.environment;
  record.tcc = query.tcc;
  store.add(record);
  EXPECT_EQ(store.choose(*usual).tier, sched::Tier::exact);
  EXPECT_EQ(store.choose(*without).tier, sched::Tier::analytic);
  EXPECT_TRUE(names(store.explain(*without).refused, "switched off by quirk file:7: it is wrong"));
}

TEST_F(QuirksOfTemplates, WhereAllConfigsAreOffTheNextTemplateTakesTheRegion) {
  Target target = sched::target_by_name("cuda:sm_80");
  for (const int64_t swapped : {0, 1})
    target = with(target, str("config gemm_sm80 swapped=", swapped));
  EXPECT_EQ(candidate(kProduct, target)->kernel_template().name(), "contraction");
}

TEST_F(QuirksOfTemplates, TypesThatAreOffAreErrorsThatNameTheFile) {
  const Target target = with(sched::target_by_name("cuda:sm_80"), "feature float64");
  backends::CompileOptions options;
  options.binaries = false;
  try {
    backends::compile(parse_yaml_graph("tcc: 1\ninputs: {x: {dtype: f64, shape: [9]}}\n"
                                       "nodes: [{out: y, op: relu, in: [x]}]\noutputs: [y]\n",
                                       "g.yaml", "."),
                      target, options);
    FAIL() << "there is a kernel";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no 64-bit floats (switched off by quirk file:7"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace tcc::exec
