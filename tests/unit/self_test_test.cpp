// The self-test: a device with a fault planted in it, found, switched off, honoured by the next
// compilation and named; kernels that hang or end the process; the time limit.
#include "autotune/self_test.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <thread>

#include "backends/backend.h"
#include "backends/compile/process.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/passed_templates.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/run_command.h"
#include "tests/run_graph.h"
#include "tests/source_dir.h"
#include "tools/self_test.h"

namespace tcc::autotune {
namespace {

namespace fs = std::filesystem;
using Kind = SelfTestEvent::Kind;

// A device that does what a faulty driver makes of kernels.
class FaultyDevice : public runtime::Device {
 public:
  using Fault = std::function<void(exec::KernelBinary&)>;  // changes a kernel, or throws
  FaultyDevice(std::shared_ptr<runtime::Device> real, Fault fault)
      : real_(std::move(real)), fault_(std::move(fault)) {}

  const exec::Target& target() const override { return real_->target(); }
  std::string name() const override { return real_->name(); }
  int64_t memory_bytes() const override { return real_->memory_bytes(); }
  int64_t allocated_bytes() const override { return real_->allocated_bytes(); }
  std::unique_ptr<runtime::Buffer> allocate(int64_t bytes) override {
    return real_->allocate(bytes);
  }
  std::unique_ptr<runtime::Buffer> wrap(runtime::DeviceAddress address, int64_t bytes) override {
    return real_->wrap(address, bytes);
  }
  std::unique_ptr<runtime::LoadedKernel> load(const exec::KernelBinary& binary) override {
    exec::KernelBinary changed = binary;
    fault_(changed);
    return real_->load(changed);
  }
  std::unique_ptr<runtime::Stream> create_stream() override { return real_->create_stream(); }
  std::unique_ptr<runtime::Stream> wrap_stream(void* handle) override {
    return real_->wrap_stream(handle);
  }
  std::unique_ptr<runtime::Recording> record(std::span<const runtime::BoundStep> steps) override {
    return real_->record(steps);
  }

 private:
  const std::shared_ptr<runtime::Device> real_;
  const Fault fault_;
};

// Compiles the kernel again from a text in which `from` is `to`; kernels without it stay.
void replace_in_source(exec::KernelBinary& kernel, const exec::Target& target,
                       const std::string& from, const std::string& to) {
  std::string text = kernel.source;
  if (text.find(from) == text.npos) return;
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
  kernel.code = backends::backend_for(target.api)
                    .compile(text, kernel.entry, target,
                             {backends::TextOrigin::generated, kernel.environment});
}

struct Seen {
  std::vector<SelfTestEvent> found, slow, untested;
  int passed = 0;
  bool is_done = false;
  std::vector<exec::Quirk> quirks() const {
    std::vector<exec::Quirk> all;
    for (const SelfTestEvent& event : found) all.push_back(event.quirk);
    return all;
  }
};

class SelfTestOnFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto& devices = test::devices_present(test::Devices::software);
    if (devices.empty()) GTEST_SKIP() << "there is no software device";
    real_ = test::open_once(devices.front());
  }
  Seen run(const std::string& filter, FaultyDevice::Fault fault, double seconds = 100) {
    Seen seen;
    SelfTestOptions options;
    options.deadline = std::chrono::steady_clock::now() +
                       std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
    options.timing = false;
    options.filter = filter;
    options.cache = &cache_;
    options.tell = [&](const SelfTestEvent& event) {
      if (event.kind == Kind::found) seen.found.push_back(event);
      if (event.kind == Kind::slow) seen.slow.push_back(event);
      if (event.kind == Kind::untested) seen.untested.push_back(event);
      seen.passed += event.kind == Kind::passed;
      seen.is_done = seen.is_done || event.kind == Kind::done;
    };
    self_test(std::make_shared<FaultyDevice>(real_, std::move(fault)), options);
    return seen;
  }
  exec::Target without(const Seen& seen) const {
    exec::Target target = real_->target();
    exec::apply_quirks(target, seen.quirks());
    return target;
  }

  std::shared_ptr<runtime::Device> real_;
  static inline backends::KernelCache cache_{default_cache_folder()};
};

std::string lines(const Seen& seen) {
  std::string text;
  for (const SelfTestEvent& event : seen.found)
    text += event.sample + ": " + event.text + "\n    " + event.quirk.line() + "\n";
  return text;
}

TEST_F(SelfTestOnFaults, ARightDeviceHasNone) {
  int passed = 0;
  for (const char* filter : {"f32 arithmetic", "sums of", "matmul of f32", "attention of f32"}) {
    const Seen seen = run(filter, [](exec::KernelBinary&) {});
    EXPECT_EQ(lines(seen), "");
    EXPECT_TRUE(seen.is_done);
    passed += seen.passed;
  }
  EXPECT_GT(passed, 20);
}

// Shuffles that give each thread its own value: sums through shared memory are right.
TEST_F(SelfTestOnFaults, AWrongFeatureIsSwitchedOff) {
  if (!real_->target().subgroup_shuffle) GTEST_SKIP() << "there are no shuffles";
  const Seen seen = run("softmax", [&](exec::KernelBinary& kernel) {
    replace_in_source(kernel, real_->target(), "subgroupShuffleXor(", "max(");
  });
  ASSERT_FALSE(seen.found.empty());
  EXPECT_EQ(seen.found.size(), 1u) << lines(seen);
  EXPECT_EQ(seen.found[0].quirk.off, exec::Part::feature) << lines(seen);
  EXPECT_EQ(seen.found[0].quirk.what, "subgroup_shuffle");
  EXPECT_FALSE(without(seen).subgroup_shuffle);
}

// A template that is refused: another takes the region, and why names the file.
TEST_F(SelfTestOnFaults, ATemplateThatFailsIsSwitchedOffAndWhyNamesIt) {
  const Seen seen = run("attention of f32", [](exec::KernelBinary& kernel) {
    if (kernel.template_name == "attention") throw Error(ErrorKind::device, "planted");
  });
  ASSERT_EQ(seen.found.size(), 1u) << lines(seen);
  EXPECT_EQ(seen.found[0].quirk.off, exec::Part::kernel_template);
  EXPECT_EQ(seen.found[0].quirk.what, "attention");
  EXPECT_NE(seen.found[0].text.find("planted"), std::string::npos);
  // As a file, read again.
  exec::QuirkFile file = exec::parse_quirks(exec::quirk_file_text(seen.quirks()), "own.quirks");
  ASSERT_TRUE(file.problems.empty()) << file.problems[0];
  exec::Target target = real_->target();
  exec::apply_quirks(target, file.quirks);
  const ir::Graph graph =
      parse_yaml_graph(
          "tcc: 1\ninputs: {q: {dtype: f32, shape: [1, 2, 33, 64]}, k: {dtype: f32, shape: [1, 2, "
          "65, 64]}, v: {dtype: f32, shape: [1, 2, 65, 64]}}\n"
          "nodes: [{out: y, op: scaled_dot_product_attention, in: [q, k, v]}]\noutputs: [y]\n",
          "g.yaml", ".")
          .bind({});
  const exec::Executable executable = backends::compile(graph, target);
  EXPECT_GT(executable.kernels.size(), 1u);
  for (const exec::KernelBinary& kernel : executable.kernels)
    EXPECT_NE(kernel.template_name, "attention");
  std::string apart;
  backends::CompileOptions options;
  options.explain_fusion = [&](const std::string& line) { apart += line + "\n"; };
  backends::schedule(graph, target, options);
  EXPECT_NE(apart.find("attention: switched off by quirk own.quirks:3: attention of"),
            std::string::npos)
      << apart;
}

// A fault of one value of one parameter: only configs with it are switched off.
TEST_F(SelfTestOnFaults, AConfigThatFailsIsSwitchedOffByTheValueThatMatters) {
  const Seen seen = run("matmul of f32", [](exec::KernelBinary& kernel) {
    if (kernel.template_name == "contraction" &&
        (" " + kernel.config + " ").find(" block_k=16 ") != std::string::npos)
      throw Error(ErrorKind::device, "planted");
  });
  ASSERT_FALSE(seen.found.empty());
  for (const SelfTestEvent& event : seen.found) {
    EXPECT_EQ(event.quirk.off, exec::Part::config) << lines(seen);
    EXPECT_EQ(event.quirk.what, "contraction block_k=16") << lines(seen);
  }
}

// A kernel that ends the process is not run again, and only the configs with the value that does so
// are switched off.
TEST_F(SelfTestOnFaults, AConfigThatEndsTheProcessIsSwitchedOffByTheValueThatMatters) {
  struct Died {};
  const auto fault = [](exec::KernelBinary& kernel) {
    if (kernel.template_name == "contraction" &&
        (" " + kernel.config + " ").find(" block_k=16 ") != std::string::npos)
      throw Died();
  };
  std::vector<exec::Quirk> found;
  SelfTestOptions options;
  options.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(100);
  options.timing = false;
  options.filter = "matmul of f32";
  options.cache = &cache_;
  std::string kernel;
  bool is_done = false;
  options.tell = [&](const SelfTestEvent& event) {
    if (event.kind == Kind::loading || event.kind == Kind::running) kernel = event.text;
    if (event.kind == Kind::passed) options.skip.push_back(event.sample);
    if (event.kind == Kind::found) found.push_back(event.quirk);
    is_done = is_done || event.kind == Kind::done;
  };
  for (int process = 0; process < 40 && !is_done; ++process) {
    options.known = found;
    try {
      self_test(std::make_shared<FaultyDevice>(real_, fault), options);
    } catch (const Died&) {
      for (const SelfTestCrash& crash : options.crashes) EXPECT_NE(crash.kernel, kernel);
      options.crashes.push_back({kernel, "ended the process"});
    }
  }
  EXPECT_TRUE(is_done);
  EXPECT_FALSE(options.crashes.empty());
  ASSERT_FALSE(found.empty());
  for (const exec::Quirk& quirk : found) EXPECT_EQ(quirk.what, "contraction block_k=16");
}

// Samples that nothing computes once a part is off count as untested, not as none of the device's.
TEST_F(SelfTestOnFaults, SamplesThatNothingComputesAreUntested) {
  const Seen seen = run("sort", [](exec::KernelBinary& kernel) {
    if (kernel.template_name == "sort") throw Error(ErrorKind::device, "planted");
  });
  ASSERT_FALSE(seen.found.empty());
  EXPECT_EQ(seen.found[0].quirk.what, "sort") << lines(seen);
  EXPECT_NE(seen.found[0].quirk.reason.find("nothing else computes this"), std::string::npos)
      << lines(seen);
  ASSERT_FALSE(seen.untested.empty());
  EXPECT_NE(seen.untested[0].text.find("what computes it is switched off"), std::string::npos);
}

TEST_F(SelfTestOnFaults, EndsInTime) {
  const auto start = std::chrono::steady_clock::now();
  const Seen seen = run(
      "", [](exec::KernelBinary&) {}, 0.5);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 15);
  EXPECT_FALSE(seen.untested.empty());
}

// ---- in a process of its own

using tools::isolated_self_test;
using tools::SelfTestReport;

exec::Quirk off_template(const std::string& name) {
  exec::Quirk quirk;
  quirk.off = exec::Part::kernel_template;
  quirk.what = name;
  quirk.reason = "never ends";
  return quirk;
}

bool knows(const SelfTestOptions& options, const std::string& name) {
  return std::ranges::any_of(options.known,
                             [&](const exec::Quirk& quirk) { return quirk.what == name; });
}

TEST(IsolatedSelfTest, KernelsThatEndTheProcessOrNeverEndAreSwitchedOff) {
  const auto device = runtime::open_device("null");
  const SelfTestReport report = isolated_self_test(
      [&](const SelfTestOptions& options, const tools::SelfTestTeller& tell) {
        tell.device(*device);
        tell.event({Kind::running, "first", "a", off_template("a")});
        if (!knows(options, "a")) std::raise(SIGKILL);
        tell.event({Kind::passed, "first", "", {}});
        tell.event({Kind::running, "second", "b", off_template("b")});
        if (!knows(options, "b")) std::this_thread::sleep_for(std::chrono::hours(1));
        tell.event({Kind::passed, "second", "", {}});
        tell.event({Kind::tested, "", "", {}});
        tell.event({Kind::done, "", "", {}});
      },
      {.seconds = 60, .hang_seconds = 0.5});
  EXPECT_TRUE(report.is_complete);
  ASSERT_EQ(report.found.size(), 2u);
  EXPECT_EQ(report.found[0].quirk.what, "a");
  EXPECT_EQ(report.found[0].quirk.reason, "first: ended the process with signal 9");
  EXPECT_EQ(report.found[1].quirk.what, "b");
  EXPECT_EQ(report.found[1].text, "did not end within 0.5 s");
  EXPECT_EQ(report.quirks().size(), 2u);
}

// A part that the next process blames for a kernel that ended one is switched off instead of its
// template.
TEST(IsolatedSelfTest, BlamesThePartThatTheNextProcessFinds) {
  const auto device = runtime::open_device("null");
  exec::Quirk config = off_template("a stages=2");
  config.off = exec::Part::config;
  const SelfTestReport report = isolated_self_test(
      [&](const SelfTestOptions& options, const tools::SelfTestTeller& tell) {
        tell.device(*device);
        const auto crashed = [&](const std::string& kernel) {
          return std::ranges::any_of(options.crashes, [&](const SelfTestCrash& crash) {
            return crash.kernel == kernel && crash.reason == "ended the process with signal 9";
          });
        };
        for (const char* kernel : {"default", "another"})
          if (!crashed(kernel)) {
            tell.event({Kind::running, "first", kernel, off_template("a")});
            std::raise(SIGKILL);
          }
        if (!knows(options, config.what)) tell.event({Kind::found, "first", "it dies", config});
        tell.event({Kind::passed, "first", "", {}});
        tell.event({Kind::running, "first, more", "third", off_template("b")});
        if (!crashed("third")) std::raise(SIGKILL);
        tell.event({Kind::tested, "", "", {}});
        tell.event({Kind::done, "", "", {}});
      },
      {.seconds = 60, .hang_seconds = 0.5});
  EXPECT_TRUE(report.is_complete);
  ASSERT_EQ(report.found.size(), 2u);
  EXPECT_EQ(report.found[0].quirk.what, "a stages=2");
  EXPECT_EQ(report.found[1].quirk.what, "b");
  EXPECT_EQ(report.found[1].quirk.reason,
            "first, more: ended the process with signal 9; nothing narrower was found");
}

TEST(IsolatedSelfTest, EndsWithinItsLimit) {
  const auto device = runtime::open_device("null");
  const auto start = std::chrono::steady_clock::now();
  const SelfTestReport report = isolated_self_test(
      [&](const SelfTestOptions&, const tools::SelfTestTeller& tell) {
        tell.device(*device);
        tell.event({Kind::step, "first", "compiling", {}});
        std::this_thread::sleep_for(std::chrono::hours(1));
      },
      {.seconds = 2, .hang_seconds = 30});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LE(took.count(), 2.5);
  EXPECT_FALSE(report.is_complete);
  EXPECT_TRUE(report.found.empty());
  EXPECT_FALSE(report.untested.empty());
}

TEST(IsolatedSelfTest, TellsWhyThereIsNoDevice) {
  try {
    isolated_self_test(
        [](const SelfTestOptions&, const tools::SelfTestTeller&) {
          throw Error(ErrorKind::no_device, "no device 'x'");
        },
        {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::no_device);
    EXPECT_STREQ(error.what(), "no device 'x'");
  }
}

// An earlier test's findings make room for those of a complete one; other drivers' stay.
TEST(IsolatedSelfTest, FilesAreUpdated) {
  const backends::TemporaryFolder folder;
  const std::string file = (folder.path() / "new" / "own.quirks").string();
  SelfTestReport report;
  report.of.api = "vulkan";
  report.of.device = "X";
  report.of.driver = "d";
  report.of.low = report.of.high = {1, 2};
  report.is_complete = report.is_whole = true;
  const auto found = [&](const std::string& what) {
    exec::Quirk quirk = report.of;
    quirk.off = exec::Part::kernel_template;
    quirk.what = what;
    quirk.reason = "r";
    report.found = {{Kind::found, "s", "t", quirk}};
    return tools::write_self_test_quirks(report, file);
  };
  EXPECT_NE(found("gemv").find("vulkan | X | d 1.2 | off template gemv | r\n"), std::string::npos);
  const std::string other = "vulkan | X | d 1.3 | off template sort | r\n";
  write_file_atomic(file, read_file(file) + other);
  const std::string text = found("scan");
  EXPECT_EQ(text.find("gemv"), std::string::npos) << text;
  EXPECT_NE(text.find("off template scan"), std::string::npos);
  EXPECT_NE(text.find(other), std::string::npos);
  EXPECT_NE(text.find("vulkan | X | d 1.2 | tested | tcc "), std::string::npos);
  report.is_whole = false;
  const std::string more = found("gemv");
  EXPECT_NE(more.find("off template scan"), std::string::npos);
  EXPECT_NE(more.find("off template gemv"), std::string::npos);
}

// The programs, with a device source that computes something else.
TEST(SelfTestPrograms, APlantedFaultIsFoundSwitchedOffHonouredAndNamed) {
  if (test::devices_present(test::Devices::software).empty())
    GTEST_SKIP() << "there is no software device";
  const std::string device = test::devices_present(test::Devices::software).front();
  const backends::TemporaryFolder folder;
  fs::copy(testing::source_dir() / "backends" / "device", folder.path() / "device",
           fs::copy_options::recursive);
  const fs::path file = folder.path() / "device" / "glsl" / "attention.comp";
  std::string text = read_file(file);
  const std::string right = "terms += s[i][j];";
  ASSERT_NE(text.find(right), std::string::npos);
  text.replace(text.find(right), right.size(), "terms += 2.0 * s[i][j];");
  fs::permissions(file, fs::perms::owner_write, fs::perm_options::add);
  write_file_atomic(file, text);
  const fs::path graph = folder.path() / "g.yaml";
  write_file_atomic(graph,
                    "tcc: 1\ninputs: {q: {dtype: f32, shape: [1, 2, 33, 64]}, k: {dtype: f32, "
                    "shape: [1, 2, 65, 64]}, v: {dtype: f32, shape: [1, 2, 65, 64]}}\n"
                    "nodes: [{out: y, op: scaled_dot_product_attention, in: [q, k, v]}]\n"
                    "outputs: [y]\n");
  const auto run = [&](const char* program, const std::string& words) {
    return testing::run_command(str("XDG_CONFIG_HOME=", folder.path().string(),
                                    " TCC_DEVICE_DIR=", (folder.path() / "device").string(), " ",
                                    testing::program(program).string(), " ", words, " 2>&1"));
  };
  const std::string on = " --device " + device;
  testing::Outcome outcome = run("tcc-run", graph.string() + on + " --check");
  EXPECT_EQ(outcome.code, 1) << outcome.text;
  outcome = run("tcc-info", "--self-test --time-limit 100 --filter 'attention of f32'" + on);
  EXPECT_EQ(outcome.code, 1) << outcome.text;
  EXPECT_NE(outcome.text.find("switched off: template attention\n"), std::string::npos)
      << outcome.text;
  // The next compilation makes right kernels, and says why these.
  outcome = run("tcc-run", graph.string() + on + " --check");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  const std::string source = (folder.path() / "tcc" / "quirks" / "self-test.quirks").string();
  outcome = run("tcc-tune", "why " + graph.string() + on);
  EXPECT_NE(outcome.text.find("attention: switched off by quirk " + source + ":3: attention of"),
            std::string::npos)
      << outcome.text;
  EXPECT_EQ(outcome.text.find("[attention]"), std::string::npos) << outcome.text;
  outcome = run("tcc-info", "");
  EXPECT_NE(outcome.text.find("  off          attention: switched off by quirk " + source),
            std::string::npos)
      << outcome.text;
  outcome = run("tcc-info", "--json");
  EXPECT_NE(outcome.text.find("\"quirk\": \"" + source + ":3\""), std::string::npos)
      << outcome.text;
}

}  // namespace
}  // namespace tcc::autotune
