// tests/golden/<case>: what becomes of a small graph, as text to be read. Every case holds
//
//   graph.yaml       the graph
//   regions.txt      its regions for cuda:sm_90a
//   kernel_ir.txt    their kernels, legalised
//   out.cu, out.comp the text for cuda:sm_90a and vulkan:nvidia, without tcc's own library
//
// TCC_UPDATE_GOLDENS=1 (`./dev goldens`) rewrites what differs.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>

#include "backends/build_executable.h"
#include "backends/compile/glsl.h"
#include "backends/compile/nvrtc.h"
#include "backends/compile/spirv.h"
#include "backends/device_source.h"
#include "backends/emit/emit.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/kernel_parse.h"
#include "scheduler/state_plan.h"
#include "scheduler/template.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/source_dir.h"

namespace tcc::backends {
namespace {

namespace fs = std::filesystem;

struct Compiled {
  std::string regions, kernel_ir, text;              // text: for reading
  std::vector<std::string> names, kernels, sources;  // of every kernel; sources: whole
};

void replace(std::string& text, const std::string& part, const std::string& name) {
  const size_t at = text.find(part);
  TCC_CHECK(at != std::string::npos, name, " is not in its kernel's text");
  text.replace(at, part.size(), "// ... backends/device/" + name + " follows\n");
}

// A device source file is the same in every kernel, and so is the header of its parameters: names
// stand for them.
std::string without_device_source(std::string text, const sched::Kernel& kernel,
                                  const sched::Target& target) {
  if (kernel.is_generated()) return text;
  const bool cuda = target.api == sched::Api::cuda;
  const std::string file = (cuda ? "cuda/" : "glsl/") + kernel.source + (cuda ? ".cu" : ".comp");
  const std::string folder = file.substr(0, file.find('/') + 1);
  // GLSL gets the parameters as macros.
  const std::string header = cuda ? kernel.parameters.header : "";
  const std::string include = header.empty() ? "" : "#include \"backends/device/" + header + "\"\n";
  // Files that the header includes are not included again.
  const std::string before = resolve_device_includes(include, folder);
  const std::string all = resolve_device_includes(include + device_source(file), folder);
  if (!header.empty()) replace(text, before, header);
  replace(text, all.substr(before.size()), file);
  return text;
}

std::string readable(const exec::KernelText& emitted) { return emitted.comment + emitted.source; }

Compiled compile_for(const std::string& name, const std::string& target_name) {
  const fs::path folder = testing::source_dir() / "tests/golden" / name;
  const ir::Graph graph = load_graph(folder / "graph.yaml");
  const sched::Target target = sched::target_by_name(target_name);
  const Scheduled scheduled = schedule(graph, target);
  Compiled result;
  result.regions = regions_text(scheduled.regions);
  std::vector<sched::ScheduledRegion> regions = scheduled.regions;
  sched::plan_states(*scheduled.graph, regions);
  for (const sched::ScheduledRegion& scheduled_region : regions) {
    const sched::Candidate& candidate = scheduled_region.candidate();
    const sched::Region& region = candidate.region();
    const sched::Config& config = candidate.default_config();
    const sched::Kernel kernel = sched::legalize(candidate.lower(config).only(), target);
    const std::string title =
        str("// ==== ", region.name(), " [", candidate.kernel_template().name(), "] ",
            config.to_string(), "\n");
    result.kernels.push_back(sched::to_string(kernel));
    result.kernel_ir += title + result.kernels.back() + "\n";
    const std::string text = readable(emit(kernel, target, {.library = false}));
    result.text += title + without_device_source(text, kernel, target) + "\n";
    result.names.push_back(region.name());
    result.sources.push_back(emit(kernel, target).source);
  }
  return result;
}

// The first line in which two texts differ, for a failure that can be read.
std::string difference(const std::string& golden, const std::string& text) {
  std::istringstream a(golden), b(text);
  std::string line_a, line_b;
  for (int number = 1;; ++number) {
    const bool more_a = static_cast<bool>(std::getline(a, line_a));
    const bool more_b = static_cast<bool>(std::getline(b, line_b));
    if (!more_a && !more_b) return "they differ in line ends alone";
    if (more_a != more_b || line_a != line_b)
      return str("line ", number, "\n  golden: ", more_a ? line_a : "(end)",
                 "\n  now:    ", more_b ? line_b : "(end)");
  }
}

void compare(const std::string& name, const std::string& file, const std::string& text) {
  const fs::path path = testing::source_dir() / "tests/golden" / name / file;
  const std::string golden = fs::exists(path) ? read_file(path) : "";
  if (golden == text) return;
  if (std::getenv("TCC_UPDATE_GOLDENS")) return write_file_atomic(path, text);
  ADD_FAILURE() << name << "/" << file << ": " << difference(golden, text)
                << "\n`./dev goldens` rewrites it if the change is meant";
}

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(testing::source_dir() / "tests/golden"))
    if (fs::exists(entry.path() / "graph.yaml")) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, TextIsAsReviewed) {
  const Compiled cuda = compile_for(GetParam(), "cuda:sm_90a");
  compare(GetParam(), "regions.txt", cuda.regions);
  compare(GetParam(), "kernel_ir.txt", cuda.kernel_ir);
  compare(GetParam(), "out.cu", cuda.text);
  compare(GetParam(), "out.comp", compile_for(GetParam(), "vulkan:nvidia").text);
}

TEST_P(Golden, KernelTextReadsBack) {
  for (const char* target : {"cuda:sm_90a", "vulkan:nvidia"})
    for (const std::string& text : compile_for(GetParam(), target).kernels) {
      const sched::Kernel kernel = sched::parse_kernel(text);
      sched::verify(kernel);
      EXPECT_EQ(sched::to_string(kernel), text);
    }
}

TEST_P(Golden, TextIsDeterministic) {
  for (const char* target : {"cuda:sm_90a", "vulkan:nvidia"})
    EXPECT_EQ(compile_for(GetParam(), target).sources, compile_for(GetParam(), target).sources);
}

TEST_P(Golden, CudaCompiles) {
  if (const std::string why = nvrtc_missing(); !why.empty()) GTEST_SKIP() << why;
  for (const std::string arch : {"sm_80", "sm_90a"}) {
    const Compiled cuda = compile_for(GetParam(), "cuda:" + arch);
    for (size_t i = 0; i < cuda.sources.size(); ++i)
      EXPECT_NO_THROW(compile_cuda(cuda.sources[i], cuda.names[i], arch)) << arch;
  }
}

TEST_P(Golden, GlslCompilesAndIsValid) {
  if (const std::string why = glsl_compiler_missing(); !why.empty()) GTEST_SKIP() << why;
  const Compiled vulkan = compile_for(GetParam(), "vulkan:nvidia");
  const GlslOptions options = {
      .optimize = false, .exact_floats = sched::target_by_name("vulkan:nvidia").float_controls};
  for (size_t i = 0; i < vulkan.sources.size(); ++i)
    EXPECT_EQ(validate_spirv(compile_glsl(vulkan.sources[i], vulkan.names[i], options)), "");
}

INSTANTIATE_TEST_SUITE_P(Cases, Golden, ::testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tcc::backends
