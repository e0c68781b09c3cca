// Recurrent layers on GPUs by each of their templates. Workgroups of `recurrent_grid` wait for each
// other: a watch ends the program where a kernel does not end.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/program.h"
#include "tests/random_recurrent.h"

namespace tcc {
namespace {

class Watch {
 public:
  explicit Watch(std::chrono::seconds limit) : thread_([this, limit] { wait(limit); }) {}
  ~Watch() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  void wait(std::chrono::seconds limit) {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, limit, [this] { return done_; })) return;
    std::fputs("a kernel does not end\n", stderr);
    std::_Exit(3);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

constexpr std::chrono::seconds kLimit{240};

ir::Graph layer() {
  return parse_yaml_graph(
      "tcc: 1\nname: g\ninputs: {x: {dtype: f32, shape: [50, 2, 64]}}\nweights: {w: {dtype: f32, "
      "shape: [1, 2048, 64], init: {normal: 0.1}}, r: {dtype: f32, shape: [1, 2048, 512], init: "
      "{normal: 0.04}}}\nnodes: [{out: [out, h, c], op: lstm, in: [x, w, r]}]\noutputs: [out]\n",
      "g.yaml", ".");
}

class RecurrentOnGpu : public ::testing::TestWithParam<const char*> {};

TEST_P(RecurrentOnGpu, SmallLayersAgreeWithTheReference) {
  const Watch watch(kLimit);
  test::check_recurrent(test::Devices::gpu, GetParam(), {}, 1, 40);
}

TEST_P(RecurrentOnGpu, LargeLayersAgreeWithTheReference) {
  const Watch watch(kLimit);
  if (std::string(GetParam()) == "recurrent") GTEST_SKIP() << "one workgroup does not hold them";
  test::check_recurrent(test::Devices::gpu, GetParam(), test::RecurrentSizesLarge(), 101, 10);
}

// One program for all lengths and batches.
TEST_P(RecurrentOnGpu, OpenLayersAgreeWithTheReference) {
  const Watch watch(kLimit);
  test::check_open_recurrent(test::Devices::gpu, GetParam(), {}, 41, 20);
}

TEST_P(RecurrentOnGpu, LargeOpenLayersAgreeWithTheReference) {
  const Watch watch(kLimit);
  if (std::string(GetParam()) == "recurrent") GTEST_SKIP() << "one workgroup does not hold them";
  test::RecurrentSizesLarge sizes;
  sizes.hidden = {96, 200, 256, 330, 512};
  test::check_open_recurrent(test::Devices::gpu, GetParam(), sizes, 61, 6);
}

INSTANTIATE_TEST_SUITE_P(Templates, RecurrentOnGpu,
                         ::testing::Values("recurrent", "recurrent_steps", "recurrent_grid"),
                         [](const auto& test) { return std::string(test.param); });

// Two programs at once: launches whose workgroups wait for each other take turns.
TEST(RecurrentGridOnGpu, LaunchesOfTwoStreamsDoNotBlockEachOther) {
  if (test::devices_present(test::Devices::gpu).empty()) GTEST_SKIP() << "there is no such device";
  const Watch watch(kLimit);
  const std::shared_ptr<runtime::Device> device =
      test::open_once(test::devices_present(test::Devices::gpu).front());
  const test::OnlyRecurrent only("recurrent_grid");
  const ir::Graph graph = layer();
  const test::CountedRecurrent configs("recurrent_grid", 0);
  backends::CompileOptions options;
  options.configs = &configs;
  const auto program = std::make_shared<const runtime::Program>(
      device, backends::compile(graph, device->target(), options));
  ASSERT_EQ(configs.kernels(), 1);
  const std::vector<Tensor> inputs = test::draw_inputs(graph, {});
  std::vector<std::string> wrong(4);
  std::vector<std::thread> threads;
  for (std::string& reason : wrong)
    threads.emplace_back([&] {
      runtime::Context context(program);
      for (int run = 0; run < 20; ++run) {
        const std::vector<Tensor> outputs = context.run(inputs);
        if (run == 19) reason = test::compare_with_reference(graph, inputs, outputs);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& reason : wrong) EXPECT_EQ(reason, "");
}

// A file may ask for more workgroups than the device runs at once: they would wait for ever.
TEST(RecurrentGridOnGpu, MoreWorkgroupsThanRunAtOnceAreRefused) {
  if (test::devices_present(test::Devices::gpu).empty()) GTEST_SKIP() << "there is no such device";
  const Watch watch(kLimit);
  const std::shared_ptr<runtime::Device> device =
      test::open_once(test::devices_present(test::Devices::gpu).front());
  const test::OnlyRecurrent only("recurrent_grid");
  const ir::Graph graph = layer();
  const backends::CompileOptions options;
  exec::Executable executable = backends::compile(graph, device->target(), options);
  int changed = 0;
  for (exec::Step& step : executable.steps)
    if (auto* launch = std::get_if<exec::KernelLaunch>(&step);
        launch && executable.kernels[static_cast<size_t>(launch->kernel)].cooperative) {
      launch->grid[0] = 1 << 20;
      ++changed;
    }
  ASSERT_EQ(changed, 1);
  try {
    runtime::Context context(
        std::make_shared<const runtime::Program>(device, std::move(executable)));
    context.run(test::draw_inputs(graph, {}));
    ADD_FAILURE() << "it ran";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("wait for each other"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace tcc
