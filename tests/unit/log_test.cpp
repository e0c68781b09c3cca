// Tests how the library informs its user: the log hook, progress, cancellation, what cannot fit.
#include "tcc/c_api.h"

#include <atomic>
#include <fstream>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "backends/compile/process.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/program.h"
#include "tcc/tcc.hpp"
#include "tcc/tuner.hpp"
#include "tests/unit/public_api_fixture.h"

namespace {

using namespace tcc;  // NOLINT: as a user would
using tcc::testing::mlp;

struct Message {
  LogLevel level;
  std::string channel, text;
};

class LogTest : public ::testing::Test {
 protected:
  void TearDown() override { set_log_hook({}); }
  void listen(LogLevel least) {
    set_log_hook(
        [this](LogLevel level, std::string_view channel, std::string_view text) {
          messages_.push_back({level, std::string(channel), std::string(text)});
        },
        least);
  }
  std::multiset<std::string> channels() const {
    std::multiset<std::string> all;
    for (const Message& message : messages_) all.insert(message.channel);
    return all;
  }
  std::vector<Message> messages_;
};

TEST_F(LogTest, TheHookGetsWhatItsLevelAdmits) {
  listen(LogLevel::info);
  const CompiledGraph compiled = compile(Graph::load(mlp()), "null");
  EXPECT_EQ(channels().count("tuning"), compiled.kernels().size());
  EXPECT_EQ(channels().count("compile"), 1u);
  EXPECT_EQ(channels().count("output_code"), 0u);
  for (const Message& message : messages_) {
    EXPECT_EQ(message.level, LogLevel::info);
    EXPECT_EQ(message.text.find('\n'), std::string::npos) << message.text;
  }
  messages_.clear();
  listen(LogLevel::debug);
  compile(Graph::load(mlp()), "null");
  for (const char* channel : {"partition", "output_code", "memory"})
    EXPECT_EQ(channels().count(channel), 1u) << channel;
  messages_.clear();
  listen(LogLevel::warning);
  compile(Graph::load(mlp()), "null");
  EXPECT_TRUE(messages_.empty());
}

TEST_F(LogTest, WarningsOfTuningFilesComeThroughIt) {
  const backends::TemporaryFolder folder;
  std::ofstream(folder.path() / "bad.yaml") << "no: tuning file\n";
  listen(LogLevel::warning);
  const CompileOptions options{.tuning = {folder.path()}};
  compile(Graph::load(mlp()), "null", options);
  ASSERT_EQ(messages_.size(), 1u);
  EXPECT_EQ(messages_[0].level, LogLevel::warning);
  EXPECT_EQ(messages_[0].channel, "tuning");
  EXPECT_NE(messages_[0].text.find("bad.yaml:1: is no tuning file"), std::string::npos);
  listen(LogLevel::error);
  messages_.clear();
  compile(Graph::load(mlp()), "null", options);
  EXPECT_TRUE(messages_.empty());
  std::vector<std::string> told;
  compile(Graph::load(mlp()), "null",
          {.tuning = {folder.path()}, .warn = [&](const auto& text) { told.push_back(text); }});
  EXPECT_EQ(told.size(), 1u);
}

TEST_F(LogTest, AHookMayThrowAndReplaceItself) {
  int first = 0, second = 0;
  set_log_hook([&](LogLevel, std::string_view, std::string_view) {
    ++first;
    set_log_hook([&](LogLevel, std::string_view, std::string_view) {
      ++second;
      throw std::runtime_error("not the library's concern");
    });
  });
  compile(Graph::load(mlp()), "null");
  EXPECT_EQ(first, 1);
  EXPECT_GT(second, 1);
}

TEST_F(LogTest, TwoCompilationsAtOnceShareIt) {
  std::atomic<int> inside = 0, overlaps = 0, calls = 0;
  set_log_hook([&](LogLevel, std::string_view, std::string_view) {
    if (++inside > 1) ++overlaps;
    ++calls;
    --inside;
  });
  const Graph graph = Graph::load(mlp());
  std::atomic<size_t> told = 0;
  const auto work = [&](std::int64_t batch) {
    for (int i = 0; i < 3; ++i)
      compile(graph, "null",
              {.dims = {{"B", batch}},
               .progress = [&](const CompileProgress&) { ++told; },
               .cancelled = [&] { return false; }});
  };
  std::thread other(work, 3);
  work(5);
  other.join();
  EXPECT_EQ(overlaps, 0);
  EXPECT_GE(calls, 6);
  EXPECT_GT(told, 0u);
}

TEST_F(LogTest, ProgressGoesThroughTheStagesInOrder) {
  std::vector<std::string> stages;
  std::size_t last = 0, total = 0;
  compile(Graph::load(mlp()), "null", {.progress = [&](const CompileProgress& now) {
            EXPECT_LE(now.done, now.total);
            if (stages.empty() || stages.back() != now.stage) {
              EXPECT_EQ(last, total) << "before " << now.stage;
              stages.emplace_back(now.stage);
              EXPECT_EQ(now.done, 0u);
            }
            last = now.done;
            total = now.total;
          }});
  EXPECT_EQ(stages, (std::vector<std::string>{"graph", "kernels", "load"}));
  EXPECT_GT(last, 0u);
}

TEST_F(LogTest, CancellingEndsACompilationAtEveryStage) {
  for (const char* stage : {"", "graph", "kernels", "load"}) {
    std::atomic<bool> stop = *stage == '\0';  // asked by several threads
    try {
      compile(Graph::load(mlp()), "null",
              {.progress =
                   [&](const CompileProgress& now) {
                     if (now.stage == stage) stop = true;
                   },
               .cancelled = [&] { return stop.load(); }});
      ADD_FAILURE() << "not cancelled in " << stage;
    } catch (const Cancelled& error) {
      EXPECT_EQ(static_cast<int>(error.kind()), TCC_CANCELLED);
      EXPECT_STREQ(error.what(), "cancelled by the caller");
    }
  }
}

TEST_F(LogTest, CancellingEndsATuning) {
  const backends::TemporaryFolder folder;
  std::atomic<int> trials = 0;
  TuneOptions options;
  options.compile.dims = {{"B", 2}};
  options.trials = 100000;
  options.isolate = false;
  options.output = folder.path() / "tuned";
  options.progress = [&](const TunedKernel&) { ++trials; };
  options.compile.cancelled = [&] { return trials >= 3; };
  const TuneReport report = tune(Graph::load(mlp()), "null", options);
  EXPECT_TRUE(report.interrupted);
  EXPECT_GE(trials, 3);
}

// Returns the reason why the graph does not compile for a device whose buffers have at most `limit`
// bytes.
std::string why_not(const std::string& nodes, std::int64_t limit) {
  sched::Target target = sched::target_by_name("vulkan");
  target.max_buffer_bytes = limit;
  const std::string yaml =
      "tcc: 1\nname: big\ninputs: {x: {dtype: f32, shape: [64, 256]}}\n"
      "weights: {w: {dtype: f32, shape: [256, 512], init: {normal: 1.0}}}\nnodes:\n" +
      nodes + "outputs: [z]\n";
  try {
    backends::CompileOptions options;
    options.binaries = false;
    backends::compile(parse_yaml_graph(yaml, "g.yaml", "."), target, options);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device) << error.what();
    return error.what();
  }
}

TEST_F(LogTest, ATensorThatNoBufferHoldsFailsAtCompile) {
  constexpr std::int64_t kKiB = 1024;
  const std::string sum = "  - {out: z, op: sum, in: [x], dim: [0]}\n";
  EXPECT_EQ(why_not(sum, 64 * kKiB), "");
  EXPECT_EQ(why_not(sum, 64 * kKiB - 1),
            "vulkan:generic:sg32: 'x' (f32[64, 256]) needs 64.0 KiB in one buffer; the largest "
            "that the device has is of 64.0 KiB");
  const std::string product = "  - {out: z, op: matmul, in: [x, w]}\n";
  EXPECT_NE(why_not(product, 100 * kKiB).find("'z' (f32[64, 512]) needs 128.0 KiB in one buffer"),
            std::string::npos)
      << why_not(product, 100 * kKiB);
  EXPECT_NE(why_not(product, 500 * kKiB).find(" needs 512.0 KiB in one buffer"), std::string::npos)
      << why_not(product, 500 * kKiB);
  EXPECT_EQ(why_not(product, 512 * kKiB), "");
}

TEST_F(LogTest, AnArenaThatNoBufferHoldsFailsAtCompile) {
  // Four values of 64 KiB that live at once.
  const std::string nodes =
      "  - {out: a, op: cumsum, in: [x], dim: 0}\n  - {out: b, op: cumsum, in: [a], dim: 1}\n"
      "  - {out: c, op: cumsum, in: [b], dim: 0}\n  - {out: d, op: cumsum, in: [c], dim: 1}\n"
      "  - {out: e, op: cat, in: [a, b, c, d], dim: 1}\n"
      "  - {out: z, op: sum, in: [e], dim: [0, 1]}\n";
  const std::string why = why_not(nodes, 80 << 10);
  EXPECT_NE(why.find("the arena of intermediate values, of which '"), std::string::npos) << why;
  EXPECT_NE(why.find(" is the largest, needs "), std::string::npos) << why;
  EXPECT_EQ(why_not(nodes, 512 << 10), "");
}

TEST_F(LogTest, WeightsBeyondTheDevicesMemoryFailBeforeTheyAreLoaded) {
  const auto device = runtime::open_device("null");
  struct Never final : exec::ConstantStore {
    exec::ConstantBytes load(size_t) const override {
      ADD_FAILURE() << "weights are made";
      return {};
    }
    std::optional<Hash128> key(size_t) const override { return std::nullopt; }
  };
  exec::Executable executable;
  executable.name = "many";
  executable.store = std::make_shared<const Never>();
  for (const char* name : {"a", "b"})  // either fits, both do not
    executable.constants.push_back({name, device->memory_bytes() / 5 * 3});
  try {
    const runtime::Program program(device, std::move(executable));
    ADD_FAILURE() << "loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
    EXPECT_NE(std::string(error.what()).find("null: out of memory: many needs"), std::string::npos)
        << error.what();
  }
}

}  // namespace
