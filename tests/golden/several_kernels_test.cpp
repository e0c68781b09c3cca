// tests/golden/several_kernels: graphs of several kernels. Reviewed are what single kernels do not
// show: which regions there are, with layouts (regions.txt, whose texts are also the keys of tuning
// records), their kernels before printing (kernel_ir.txt) and the arena (memory.txt).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/region_text.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/source_dir.h"

namespace tcc::backends {
namespace {

namespace fs = std::filesystem;

fs::path folder() { return testing::source_dir() / "tests/golden/several_kernels"; }

std::string names_of(const std::vector<const ir::Value*>& values) {
  std::string text;
  for (const ir::Value* value : values) text += " " + value->name;
  return text;
}

// Returns the texts by file.
std::map<std::string, std::string> texts_of(const std::string& name) {
  const ir::Graph graph = load_graph(folder() / name / "graph.yaml");
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  std::map<std::string, std::string> texts;
  for (const sched::Region& region : schedule(graph, target).regions)
    texts["regions.txt"] += str("==== ", region.name(), ":", names_of(region.inputs), " ->",
                                names_of(region.outputs), "\n", sched::region_text(region).text);
  CompileOptions options;
  options.binaries = false;
  options.dump = [&](std::string_view stage, const std::string& text) {
    if (stage == "check-limits") texts["kernel_ir.txt"] = text;
    if (stage == "plan") texts["memory.txt"] = text;
  };
  compile(graph, target, options);
  return texts;
}

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder()))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

class SeveralKernels : public ::testing::TestWithParam<std::string> {};

TEST_P(SeveralKernels, AreAsReviewed) {
  const auto texts = texts_of(GetParam());
  ASSERT_EQ(texts.size(), 3u);
  for (const auto& [file, text] : texts) {
    const fs::path path = folder() / GetParam() / file;
    if (std::getenv("TCC_UPDATE_GOLDENS"))
      write_file_atomic(path, text);
    else
      EXPECT_EQ(read_file(path), text) << path << "\n`./dev goldens` rewrites it if it is meant";
  }
}

TEST_P(SeveralKernels, AreDeterministic) { EXPECT_EQ(texts_of(GetParam()), texts_of(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Cases, SeveralKernels, ::testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tcc::backends
