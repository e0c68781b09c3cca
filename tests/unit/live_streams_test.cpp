// Device buffers do not keep the streams of contexts that are gone, and what has run on them is
// done by then.
#include <gtest/gtest.h>

#include "tests/unit/forwarding_device.h"

#include "tcc/graph.hpp"
#include "tcc/tcc.hpp"

namespace tcc {
namespace {

int live = 0;            // streams
int not_waited_for = 0;  // streams that went with work that nobody had waited for

// Forwards to a stream of the null device, and counts.
class CountedStream : public runtime::Stream {
 public:
  explicit CountedStream(std::unique_ptr<runtime::Stream> of) : of_(std::move(of)) { ++live; }
  ~CountedStream() override {
    --live;
    if (has_work_) ++not_waited_for;
  }
  CountedStream(const CountedStream&) = delete;
  CountedStream& operator=(const CountedStream&) = delete;
  void run(const runtime::Recording& recording) override {
    has_work_ = true;
    of_->run(recording);
  }
  void run(std::span<const runtime::BoundStep> steps) override {
    has_work_ = true;
    of_->run(steps);
  }
  void copy_to_device(runtime::Buffer& to, int64_t offset,
                      std::span<const std::byte> from) override {
    of_->copy_to_device(to, offset, from);
  }
  void copy_to_host(std::span<std::byte> to, const runtime::Buffer& from, int64_t offset) override {
    of_->copy_to_host(to, from, offset);
  }
  void fill(runtime::Buffer& buffer, int64_t offset, int64_t bytes, uint8_t value) override {
    of_->fill(buffer, offset, bytes, value);
  }
  void synchronize() override { has_work_ = false; }
  std::vector<double> time_each(std::span<const runtime::BoundStep> steps) override {
    return of_->time_each(steps);
  }
  double time(const runtime::Recording& recording, int repeat) override {
    return of_->time(recording, repeat);
  }

 private:
  const std::unique_ptr<runtime::Stream> of_;
  bool has_work_ = false;
};

class CountedDevice : public runtime::testing::ForwardingDevice {
 public:
  CountedDevice() : ForwardingDevice("counted") {}
  std::unique_ptr<runtime::Stream> create_stream() override {
    return std::make_unique<CountedStream>(ForwardingDevice::create_stream());
  }
};

std::shared_ptr<runtime::Device> open_counted(int) { return std::make_shared<CountedDevice>(); }
const runtime::RegisterDevices devices({"counted", -2, nullptr, open_counted});

Graph sum() {
  GraphBuilder builder("sum");
  builder.output("y", builder.input("a", "f32", {3}) + builder.input("b", "f32", {3}));
  return builder.build();
}

TEST(LiveStreams, ThoseOfContextsThatAreGoneAreNotKept) {
  const CompiledGraph compiled = compile(sum(), "counted");
  const DeviceBuffer a("counted", 12), b("counted", 12);
  a.write(std::vector<std::byte>(12));
  b.write(std::vector<std::byte>(12));
  const int before = live;
  for (int request = 0; request < 100; ++request) {
    const DeviceBuffer y("counted", 12);
    Context context(compiled);
    context.run_device(std::vector{a, b}, std::vector{y});
    EXPECT_LE(live, before + 1) << request;
  }
  EXPECT_EQ(live, before);
  EXPECT_EQ(not_waited_for, 0);
}

// The stream that contexts share ends with the last of them.
TEST(LiveStreams, AStreamEndsWithItsLastContext) {
  const CompiledGraph compiled = compile(sum(), "counted");
  const DeviceBuffer a("counted", 12), y("counted", 12);
  const int before = live;
  auto first = std::make_unique<Context>(compiled);
  auto second = std::make_unique<Context>(compiled, *first);
  second->run_device(std::vector{a, a}, std::vector{y});
  first.reset();
  EXPECT_EQ(live, before + 1);
  second.reset();
  EXPECT_EQ(live, before);
  EXPECT_EQ(not_waited_for, 0);
  y.write(std::vector<std::byte>(12));
}

}  // namespace
}  // namespace tcc
