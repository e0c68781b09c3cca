// tcc-run --json follows docs/run-report.schema.json, and nothing else is on standard output;
// dumps.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "support/file.h"
#include "tests/run_command.h"
#include "tests/run_graph.h"
#include "tests/source_dir.h"
#include "tests/unit/json_schema.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

testing::Outcome run(const std::string& program, const std::string& arguments) {
  return testing::run_command("cd '" + testing::source_dir().string() + "' && '" +
                              testing::program(program.c_str()).string() + "' " + arguments);
}

std::string violation(const std::string& text) {
  const testing::Schema schema(
      json::parse(read_file(testing::source_dir() / "docs/run-report.schema.json")));
  return schema.violation(YAML::Load(text));
}

class RunReport : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto& devices = test::devices_present(test::Devices::software);
    if (devices.empty()) GTEST_SKIP() << "there is no software device";
    device_ = devices.front();
    folder_ = fs::temp_directory_path() / ("tcc-report-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  std::string device_;
  fs::path folder_;
};

TEST_F(RunReport, FollowsItsSchema) {
  const std::string mlp = "configs/models/mlp.yaml --json --seed 3 --dim B=4";
  for (const std::string& options :
       {" --device " + device_ + " --bench 12 --check=ops", " --device " + device_ + " --check",
        std::string(" --device null --dtype f16"), std::string(" --device reference")}) {
    const testing::Outcome outcome = run("tcc-run", mlp + options);
    ASSERT_EQ(outcome.code, 0) << outcome.text;
    EXPECT_EQ(violation(outcome.text), "") << options << "\n" << outcome.text;
  }
}

// Bytes and operations of a kernel are those of the sizes that ran, of a graph and a package.
TEST_F(RunReport, WorkIsThatOfTheSizesThatRan) {
  const std::string graph = (folder_ / "g.yaml").string(),
                    package = (folder_ / "g.tccpkg").string();
  write_file_atomic(graph,
                    "tcc: 1\nname: g\ndims: {B: 16}\n"
                    "inputs: {x: {dtype: f32, shape: [B, 64]}}\n"
                    "weights: {w: {dtype: f32, shape: [32, 64], init: {normal: 1}}}\n"
                    "nodes: [{out: y, op: linear, in: [x, w]}]\noutputs: [y]\n");
  ASSERT_EQ(
      run("tcc-compile", graph + " --dim B=1..4096 --target vulkan:lavapipe --package " + package)
          .code,
      0);
  for (const std::string& model : {graph + " --dim B=1..4096", package})
    for (const int rows : {3, 1000}) {
      const testing::Outcome outcome =
          run("tcc-run",
              model + " --device " + device_ + " --json --bench 1 --at B=" + std::to_string(rows));
      ASSERT_EQ(outcome.code, 0) << outcome.text;
      const json report = json::parse(outcome.text);
      ASSERT_EQ(report["bench"].size(), 1u) << outcome.text;
      EXPECT_EQ(report["bench"][0]["flops"], 2.0 * rows * 64 * 32) << model;
      EXPECT_EQ(report["bench"][0]["bytes"], 4.0 * (rows * (64 + 32) + 64 * 32)) << model;
    }
}

// One program, at several sizes: a list of reports, each of which follows the schema.
TEST_F(RunReport, SeveralSizesAreAList) {
  const std::string mlp = "configs/models/mlp.yaml --dim B=1..4096 --at B=1,3,500 --json --check";
  for (const std::string& options :
       {" --device " + device_ + " --bench 1", std::string(" --device reference")}) {
    const testing::Outcome outcome = run("tcc-run", mlp + options);
    ASSERT_EQ(outcome.code, 0) << outcome.text;
    const json reports = json::parse(outcome.text);
    ASSERT_EQ(reports.size(), 3u) << outcome.text;
    const int sizes[] = {1, 3, 500};
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(violation(reports[i].dump()), "") << options;
      EXPECT_EQ(reports[i]["dims"]["B"], sizes[i]);
      EXPECT_EQ(reports[i]["outputs"].size(), 1u);
      EXPECT_TRUE(reports[i]["pass"].get<bool>());
    }
    EXPECT_EQ(reports[0].contains("bench"), options.find("--bench") != options.npos);
    EXPECT_TRUE(!reports[0].contains("bench") || reports[0]["choices"] != reports[2]["choices"]);
  }
}

TEST_F(RunReport, SaysWhichKernelsAreForWhichSizes) {
  const std::string mlp = "configs/models/mlp.yaml --dim B=8..4096:8 --at B=8 --device " + device_;
  const testing::Outcome outcome = run("tcc-run", mlp + " --json --bench 2");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_EQ(violation(outcome.text), "") << outcome.text;
  const json report = json::parse(outcome.text);
  EXPECT_EQ(report["launches"], report["bench"].size());
  EXPECT_GT(report["kernels"].get<size_t>(), report["bench"].size());
  std::map<int, std::string> ran;
  for (const json& choice : report["choices"]) {
    if (!choice["ran"].get<bool>()) continue;
    EXPECT_TRUE(ran.emplace(choice["table"], choice["sizes"]).second) << "one of each table";
    EXPECT_TRUE(std::ranges::any_of(report["bench"], [&](const json& kernel) {
      return kernel["sizes"] == choice["sizes"] &&
             kernel["config"] == choice["kernels"][0]["config"];
    })) << outcome.text;
  }
  ASSERT_TRUE(ran.contains(0)) << outcome.text;
  EXPECT_TRUE(ran[0] == "B = 8" || ran[0].starts_with("B in 8..")) << ran[0];
  const testing::Outcome text = run("tcc-run", mlp + " --bench 2");
  EXPECT_NE(text.text.find(" for all sizes), arena"), std::string::npos) << text.text;
  const size_t line = text.text.find("  ran  ");
  ASSERT_NE(line, std::string::npos) << text.text;
  const size_t begin = text.text.rfind('\n', line) + 1;
  EXPECT_NE(text.text.substr(begin, line - begin).find(ran[0]), std::string::npos) << text.text;
}

TEST_F(RunReport, SaysWhatRanAndHowItWasMeasured) {
  const testing::Outcome outcome =
      run("tcc-run",
          "configs/models/mlp.yaml --json --bench 12 --check --dim B=128 --device " + device_);
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  const json report = json::parse(outcome.text);
  EXPECT_EQ(report["dims"]["B"], 128);
  EXPECT_EQ(report["device"]["name"], device_);
  EXPECT_EQ(report["command"].back(), device_);
  EXPECT_EQ(report["tcc"]["version"], TCC_VERSION);
  EXPECT_EQ(report["replay"]["samples"].size(), 12u);
  EXPECT_EQ(report["replay"]["seconds"], report["seconds_replay"]);
  EXPECT_LE(report["replay"]["interval"][0], report["seconds_replay"]);
  EXPECT_GE(report["replay"]["interval"][1], report["seconds_replay"]);
  // A device of many cores gets split sums, which are kernels more.
  ASSERT_GE(report["bench"].size(), 3u);
  EXPECT_EQ(report["bench"].size(), report["launches"]);
  std::set<std::string> keys, layers;
  for (const json& kernel : report["bench"]) {
    EXPECT_EQ(kernel["samples"].size(), 12u);
    keys.insert(kernel["region_key"].get<std::string>());
    for (const json& layer : kernel["layers"]) layers.insert(layer.get<std::string>());
  }
  EXPECT_EQ(keys.size(), report["bench"].size());
  EXPECT_TRUE(layers.contains("y")) << report["bench"].dump();
  // The same kernels in another report of another program.
  ASSERT_EQ(
      run("tcc-compile", "configs/models/mlp.yaml --dim B=128 --target " +
                             report["target"].get<std::string>() + " -o '" + folder_.string() + "'")
          .code,
      0);
  const json manifest = json::parse(read_file(folder_ / "manifest.json"));
  for (const json& kernel : manifest["kernels"])
    EXPECT_TRUE(keys.contains(kernel["region_key"].get<std::string>())) << kernel.dump();
}

TEST_F(RunReport, DumpsLeaveStandardOutputToJson) {
  const std::string mlp = "configs/models/mlp.yaml --device null --dump-after all";
  const testing::Outcome outcome = run("tcc-run", mlp + " --json 2>/dev/null");
  EXPECT_TRUE(json::accept(outcome.text)) << outcome.text.substr(0, 400);
  EXPECT_NE(run("tcc-run", mlp + " --json 2>&1 >/dev/null").text.find("// ---- after partition"),
            std::string::npos);
  EXPECT_NE(run("tcc-run", mlp + " 2>/dev/null").text.find("// ---- after partition"),
            std::string::npos);
}

TEST_F(RunReport, DumpsGoIntoAFolderInTheStagesOrder) {
  const std::string to = " --dump-to '" + folder_.string() + "'";
  const testing::Outcome outcome =
      run("tcc-compile", "configs/models/mlp.yaml --target vulkan -o '" + folder_.string() +
                             "/out' --dump-after all" + to);
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_EQ(outcome.text.find("// ----"), std::string::npos) << outcome.text;
  EXPECT_TRUE(read_file(folder_ / "00_bind.txt").starts_with("graph"));
  std::string names;
  for (const auto& entry : fs::directory_iterator(folder_))
    names += entry.path().filename().string() + " ";
  for (const char* stage : {"_simplify.txt", "_partition.txt", "_emit.txt", "_plan.txt"})
    EXPECT_NE(names.find(stage), std::string::npos) << names;
  const testing::Outcome one = run("tcc-compile", "configs/models/mlp.yaml --target vulkan -o '" +
                                                      folder_.string() + "/out' --dump-after bind");
  EXPECT_NE(one.text.find("// ---- after bind"), std::string::npos) << one.text;
  EXPECT_EQ(
      run("tcc-compile", "configs/models/mlp.yaml --target vulkan -o x --dump-after no 2>&1").code,
      2);
  EXPECT_EQ(run("tcc-run", "configs/models/mlp.yaml" + to + " 2>&1").text,
            "tcc-run: --dump-to: needs --dump-after\n");
}

TEST_F(RunReport, SaysWhyKernelsAreNotFused) {
  const std::string graph = "configs/models/mlp.yaml --explain-fusion ";
  const std::string of_run = run("tcc-run", graph + "--device " + device_).text;
  EXPECT_NE(of_run.find("matmul_add_gelu ("), std::string::npos) << of_run;
  EXPECT_EQ(run("tcc-run", graph + "--json --device " + device_ + " 2>/dev/null").text.find(" | "),
            std::string::npos);
  const std::string compiled =
      run("tcc-compile", graph + "--target vulkan -o '" + folder_.string() + "/out'").text;
  EXPECT_NE(compiled.find("matmul_add_gelu ("), std::string::npos) << compiled;
  // Without a folder it prints the same and the number of kernels, and writes nothing.
  const testing::Outcome printed = run("tcc-compile", graph + "--target vulkan");
  EXPECT_EQ(printed.code, 0);
  EXPECT_EQ(compiled.rfind(printed.text.substr(0, printed.text.size() - 1), 0), 0u)
      << compiled << printed.text;
}

TEST_F(RunReport, OutputsOfNothingButZerosAreSaid) {
  const fs::path file = folder_ / "zero.yaml";
  write_file_atomic(file,
                    "tcc: 1\ninputs: {x: {dtype: f32, shape: [4]}}\nnodes:\n"
                    "  - {out: y, op: mul, in: [x, 0.0]}\noutputs: [y]\n");
  const testing::Outcome outcome =
      run("tcc-run", "'" + file.string() + "' --check --device " + device_);
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("(all elements are zero)"), std::string::npos) << outcome.text;
}

TEST_F(RunReport, CheckTakesNoOtherWords) {
  EXPECT_EQ(run("tcc-run", "configs/models/mlp.yaml --check=all 2>&1").text,
            "tcc-run: --check=all: must be outputs (the default) or ops\n");
  // The next word is the graph, not what to check.
  EXPECT_EQ(run("tcc-run", "--check configs/models/mlp.yaml --device " + device_).code, 0);
}

}  // namespace
}  // namespace tcc
