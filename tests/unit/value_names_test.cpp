// The names that a user gives to values are in no key: the same graph under other names is the same
// kernels, compiled once.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "backends/backend.h"
#include "backends/compile/code.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "support/error.h"
#include "tests/source_dir.h"

namespace tcc::backends {
namespace {

namespace fs = std::filesystem;

// A name that sorts in another place than the value's own.
std::string other_name(size_t i) { return str("renamed_", 10000 - i); }

void rename_all(ir::Graph& graph) {
  for (size_t i = 0; i < graph.values().size(); ++i) graph.values()[i]->name = other_name(i);
}

class EmptyFolder {
 public:
  explicit EmptyFolder(const std::string& name)
      : path_(fs::path(::testing::TempDir()) / str("tcc_", name, "_", ::getpid())) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~EmptyFolder() { fs::remove_all(path_); }
  EmptyFolder(const EmptyFolder&) = delete;
  EmptyFolder& operator=(const EmptyFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

size_t files_below(const fs::path& folder) {
  return static_cast<size_t>(
      std::ranges::count_if(fs::recursive_directory_iterator(folder),
                            [](const auto& entry) { return entry.is_regular_file(); }));
}

ir::Graph several_kernels() {
  return parse_yaml_graph(R"(tcc: 1
name: g
inputs:
  first: {dtype: f32, shape: [2, 3, 12, 12]}
  filter: {dtype: f32, shape: [8, 3, 3, 3]}
  weight: {dtype: f32, shape: [1152, 16]}
nodes:
  - {out: filtered, op: conv2d, in: [first, filter], padding: 1}
  - {out: active, op: relu, in: [filtered]}
  - {out: flat, op: reshape, in: [active], shape: [2, 1152]}
  - {out: product, op: matmul, in: [flat, weight]}
  - {out: share, op: softmax, in: [product], dim: 1}
  - {out: summed, op: cumsum, in: [share], dim: 1}
outputs: [summed, product]
)",
                          "g.yaml", ".");
}

class ValueNames : public ::testing::TestWithParam<const char*> {};

TEST_P(ValueNames, AreInNoKey) {
  const sched::Target target = sched::target_by_name(GetParam());
  if (const std::string why = backend_for(target.api).compiler_missing(); !why.empty()) GTEST_SKIP() << why;
  for (const bool is_model : {false, true}) {
    const fs::path mlp = testing::source_dir() / "configs/models/mlp.yaml";
    ir::Graph graph = is_model ? load_graph(mlp) : several_kernels();
    const EmptyFolder folder(str("value_names_", sched::name(target.api)));
    KernelCache cache(folder.path());
    CompileOptions options;
    options.cache = &cache;
    const exec::Executable before = compile(graph, target, options);
    const size_t compiled = files_below(folder.path());
    EXPECT_GT(compiled, 0u);
    rename_all(graph);
    const exec::Executable after = compile(graph, target, options);
    EXPECT_EQ(files_below(folder.path()), compiled) << "kernels were compiled anew";
    ASSERT_EQ(after.kernels.size(), before.kernels.size());
    std::string comments;
    for (size_t i = 0; i < after.kernels.size(); ++i) {
      EXPECT_EQ(after.kernels[i].source, before.kernels[i].source);
      EXPECT_EQ(after.kernels[i].entry, before.kernels[i].entry);
      EXPECT_EQ(after.kernels[i].region_key, before.kernels[i].region_key);
      EXPECT_EQ(after.kernels[i].source.find("renamed_"), std::string::npos);
      comments += after.kernels[i].comment;
    }
    EXPECT_NE(comments.find("renamed_"), std::string::npos) << "people see them";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Targets, ValueNames, ::testing::Values("cuda:sm_90a", "vulkan:nvidia"), [](const auto& test) {
      return std::string(test.param).substr(0, std::string(test.param).find(':'));
    });

}  // namespace
}  // namespace tcc::backends
