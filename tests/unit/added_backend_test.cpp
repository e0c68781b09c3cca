// A back end that only this file knows: it registers itself, and so does its device; the compiler,
// the tuner's records and the look-up of devices use them like any other.
#include <gtest/gtest.h>

#include <algorithm>

#include "autotune/records.h"
#include "backends/backend.h"
#include "backends/compile/process.h"
#include "backends/pipeline.h"
#include "executable/serialize.h"
#include "frontend/graph_file.h"
#include "runtime/program.h"
#include "tests/expect_error.h"
#include "tests/unit/forwarding_device.h"

namespace tcc::backends {
namespace {

// CUDA's spelling with another barrier; the code of a kernel is its text, backwards.
class Backwards : public Backend {
 public:
  sched::Api api() const override { return sched::api_of("backwards"); }
  const Dialect& dialect() const override {
    static const Dialect instance = [] {
      Dialect d = backend_for(sched::Api::cuda).dialect();
      d.barrier = "all_meet();";
      d.shared_in_entry = "yes";
      d.reserved += " thread block";
      d.entry_suffix = "int twice_{name}({parameters});\n";
      return d;
    }();
    return instance;
  }
  std::string entry_of(const std::string& kernel) const override { return "the_" + kernel; }
  std::string compiler_missing() const override { return ""; }
  std::string compiler_id() const override { return "backwards 1.0"; }
  std::string flags(const sched::Target&, const TextKind&) const override { return ""; }
  std::string instruction_set(const sched::Target&) const override { return "letters"; }
  std::vector<uint8_t> compile(const std::string& source, const std::string&, const sched::Target&,
                               const TextKind&) const override {
    return {source.rbegin(), source.rend()};
  }
  std::string violation(const std::vector<uint8_t>& code) const override {
    return code.empty() ? "no code" : "";
  }
  std::string code_ending(const std::vector<uint8_t>&) const override { return ".txet"; }
  std::string smallest_source() const override { return " "; }
};

const RegisterBackend<Backwards> registered;

sched::Target target() {
  sched::Target target;
  target.api = sched::api_of("backwards");
  return target;
}

const sched::RegisterTargets targets({"backwards",
                                      [](std::string_view name) -> std::optional<sched::Target> {
                                        sched::Target found = target();
                                        found.arch = name;
                                        if (name.empty() || name == "mirror") return found;
                                        return std::nullopt;
                                      },
                                      [] {
                                        return std::vector<std::string>{"", "mirror"};
                                      }});

class BackwardsDevice : public runtime::testing::ForwardingDevice {
 public:
  BackwardsDevice() : ForwardingDevice("backwards") {}
  const exec::Target& target() const override { return target_; }

 private:
  const exec::Target target_ = backends::target();
};

std::shared_ptr<runtime::Device> open_backwards(int) { return std::make_shared<BackwardsDevice>(); }
const runtime::RegisterDevices devices({"backwards", -1, nullptr, open_backwards});

ir::Graph softmax() {
  return parse_yaml_graph(
      "tcc: 1\nname: g\ninputs: {x: {dtype: f32, shape: [8, 4096]}}\n"
      "nodes: [{out: y, op: softmax, in: [x], dim: 1}]\noutputs: [y]\n",
      "g.yaml", ".");
}

TEST(AddedBackend, SpellsAndCompilesKernels) {
  CompileOptions options;
  options.validate = true;
  const exec::Executable executable = compile(softmax(), target(), options);
  ASSERT_EQ(executable.kernels.size(), 1u);
  const exec::KernelBinary& kernel = executable.kernels[0];
  EXPECT_NE(kernel.source.find("all_meet();"), std::string::npos);
  EXPECT_TRUE(kernel.entry.starts_with("the_")) << kernel.entry;
  EXPECT_GT(kernel.source.find("__shared__"), kernel.source.find("__global__")) << kernel.source;
  EXPECT_EQ(kernel.source.find(" thread = "), std::string::npos) << kernel.source;
  const size_t suffix = kernel.source.find("int twice_");
  EXPECT_GT(suffix, kernel.source.find("all_meet();"));
  EXPECT_NE(kernel.source.find("const f32* __restrict__", suffix), std::string::npos)
      << kernel.source;
  EXPECT_TRUE(std::equal(kernel.code.begin(), kernel.code.end(), kernel.source.rbegin(),
                         kernel.source.rend()));
}

TEST(AddedBackend, IsListedByName) {
  std::vector<std::string> names;
  for (const Backend* backend : backends()) names.emplace_back(sched::name(backend->api()));
  EXPECT_TRUE(std::ranges::is_sorted(names));
  for (const char* name : {"backwards", "cuda", "null", "vulkan"})
    EXPECT_EQ(std::ranges::count(names, name), 1) << name;
  EXPECT_EQ(sched::api_of("cuda"), sched::Api::cuda);
  EXPECT_EQ(sched::api_of("backwards"), target().api);
  EXPECT_EQ(target().id(), "backwards");
}

TEST(AddedBackend, IsInTheEnvironmentOfRecords) {
  const Scheduled scheduled = schedule(softmax(), target());
  const sched::Candidate& candidate = scheduled.regions.at(0).candidate();
  EXPECT_EQ(autotune::key_of(candidate).device, "backwards");
  EXPECT_EQ(autotune::environment_of(candidate.space(), target()).compiler, "backwards 1.0");
}

TEST(AddedBackend, BringsItsTargets) {
  EXPECT_EQ(sched::target_by_name("backwards").id(), "backwards");
  EXPECT_EQ(sched::target_by_name("backwards:mirror").id(), "backwards:mirror");
  EXPECT_ERROR_KIND(sched::target_by_name("backwards:window"), ErrorKind::bad_input,
                    "unknown target 'backwards:window'; did you mean 'backwards:mirror'?");
  EXPECT_THROW(sched::target_by_name("backwards:"), Error);
}

TEST(AddedBackend, ProgramsAreSavedAndReadAgain) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "softmax.tccx";
  exec::save_executable(compile(softmax(), target()), file);
  exec::Executable back = exec::load_executable(file);
  EXPECT_EQ(back.target.api, target().api);
  EXPECT_EQ(back.target.id(), "backwards");
  ASSERT_EQ(back.kernels.size(), 1u);
  EXPECT_NE(back.kernels[0].source.find("all_meet();"), std::string::npos);
  const auto program =
      std::make_shared<const runtime::Program>(runtime::open_device("backwards"), back);
  runtime::Context context(program);
  const Tensor x(DType::f32, {8, 4096});
  EXPECT_EQ(context.run({&x, 1}).at(0).shape(), (std::vector<int64_t>{8, 4096}));
  EXPECT_ERROR_KIND(runtime::Program(runtime::open_device("null"), std::move(back)),
                    ErrorKind::device, "was compiled for backwards");
}

TEST(AddedBackend, HasDevices) {
  EXPECT_TRUE(runtime::open_device("backwards"));
  EXPECT_THROW(runtime::open_device("backwards:0"), Error);
  EXPECT_THROW(runtime::open_device("forwards"), Error);
}

}  // namespace
}  // namespace tcc::backends
