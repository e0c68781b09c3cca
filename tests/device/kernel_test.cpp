// Conformance: kernels, launches in order, recordings, argument tables, timings.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "support/error.h"
#include "tests/device/conformance.h"

namespace tcc::runtime {
namespace {

class KernelTest : public DeviceTest {
 protected:
  BoundStep bind(const RunnableKernel& kernel, std::initializer_list<const Buffer*> buffers) {
    std::vector<uint64_t> arguments;
    for (const Buffer* buffer : buffers) arguments.push_back(buffer->address());
    return kernel.on(std::move(arguments));
  }
  void expect_all(const Buffer& buffer, float value) {
    if (!runs_kernels()) return;
    const std::vector<float> values = download(buffer);
    const auto wrong =
        std::find_if(values.begin(), values.end(), [&](float x) { return x != value; });
    if (wrong != values.end())
      ADD_FAILURE() << "[" << wrong - values.begin() << "] is " << *wrong << ", not " << value;
  }
};
TCC_ON_EVERY_DEVICE(KernelTest);

TEST_P(KernelTest, AddsVectors) {
  constexpr int64_t n = 10'007;
  std::vector<float> a(n), b(n);
  std::iota(a.begin(), a.end(), 0.0f);
  std::iota(b.begin(), b.end(), 0.5f);
  const auto buffer_a = upload(a), buffer_b = upload(b),
             buffer_c = upload(std::vector<float>(n, -1));
  const auto kernel = load(TestKernel::add, n);
  const BoundStep launch = bind(kernel, {buffer_a.get(), buffer_b.get(), buffer_c.get()});
  stream->run({&launch, 1});
  const std::vector<float> c = download(*buffer_c);
  if (!runs_kernels()) return;
  for (size_t i = 0; i < n; ++i) ASSERT_EQ(c[i], a[i] + b[i]) << i;
}

// Copies begin and end at any byte, come after and before kernels, and run at once and recorded.
TEST_P(KernelTest, CopiesStandBetweenLaunches) {
  constexpr int64_t n = 1000;
  const auto increment = load(TestKernel::increment, n);
  for (const bool recorded : {false, true}) {
    const auto x = upload(std::vector<float>(n, 3)), y = upload(std::vector<float>(n, 0));
    const auto bytes = device->allocate(4 * n + 7);
    stream->fill(*bytes, 0, bytes->bytes(), 0xee);
    const float first = runs_kernels() ? 4 : 3, last = runs_kernels() ? 5 : 3;
    const std::vector<BoundStep> launches = {
        bind(increment, {x.get()}),
        BoundCopy{bytes->address() + 3, x->address(), 4 * n},
        bind(increment, {x.get()}),
        BoundCopy{y->address() + 4, bytes->address() + 3 + 4, 4 * (n - 1)},
        BoundCopy{y->address(), x->address() + 8, 4},
        BoundCopy{},
    };
    if (recorded)
      stream->run(*device->record(launches));
    else
      stream->run(launches);
    const std::vector<float> got = download(*y);
    EXPECT_EQ(got[0], last);
    for (size_t i = 1; i < n; ++i) ASSERT_EQ(got[i], first) << i;
    std::vector<std::byte> around(static_cast<size_t>(bytes->bytes()));
    stream->copy_to_host(around, *bytes, 0);
    EXPECT_EQ(around[2], std::byte{0xee});
    EXPECT_EQ(around[3 + 4 * n], std::byte{0xee});
    EXPECT_EQ(stream->time_each(launches).size(), launches.size());
  }
  const BoundStep nothing;
  EXPECT_THROW(stream->run({&nothing, 1}), InternalError);
}

TEST_P(KernelTest, FillsStandBetweenLaunches) {
  constexpr int64_t n = 1000;
  const auto increment = load(TestKernel::increment, n);
  for (const bool recorded : {false, true}) {
    const auto x = upload(std::vector<float>(n, 3));
    const std::vector<BoundStep> steps = {
        bind(increment, {x.get()}), BoundFill{x->address() + 8, 4 * (n - 3), 0},
        bind(increment, {x.get()}), BoundFill{x->address(), 0, 9}};
    if (recorded)
      stream->run(*device->record(steps));
    else
      stream->run(steps);
    const std::vector<float> got = download(*x);
    const float plus = runs_kernels() ? 1 : 0;
    EXPECT_EQ(got[1], 3 + 2 * plus);
    EXPECT_EQ(got[2], plus);
    EXPECT_EQ(got[n - 2], plus);
    EXPECT_EQ(got[n - 1], 3 + 2 * plus);
  }
  const BoundStep torn = BoundFill{64, 6, 0}, off = BoundFill{66, 8, 0};
  EXPECT_THROW(stream->run({&torn, 1}), InternalError);
  EXPECT_THROW(device->record({&off, 1}), InternalError);
}

TEST_P(KernelTest, LaunchesSeeTheWritesOfEarlierOnes) {
  constexpr int64_t n = 100'000;
  const auto x = upload(std::vector<float>(n, 0));
  const auto y = upload(std::vector<float>(n, 0));
  const auto increment = load(TestKernel::increment, n), add = load(TestKernel::add, n);
  std::vector<BoundStep> launches;
  for (int i = 0; i < 20; ++i) {
    launches.push_back(bind(increment, {x.get()}));
    launches.push_back(bind(add, {x.get(), y.get(), y.get()}));
  }
  stream->run(launches);
  stream->run(launches);
  expect_all(*x, 40);
  expect_all(*y, 40 * 41 / 2);
}

TEST_P(KernelTest, CopiesAndFillsAreOrderedWithLaunches) {
  constexpr int64_t n = 100'000;
  const auto x = upload(std::vector<float>(n, 0));
  const auto kernel = load(TestKernel::increment, n);
  const BoundStep launch = bind(kernel, {x.get()});
  for (int i = 0; i < 5; ++i) {
    stream->run({&launch, 1});
    stream->fill(*x, 0, x->bytes(), 0);
    stream->run({&launch, 1});
    expect_all(*x, 1);
    const std::vector<float> tens(n, 10);
    stream->run({&launch, 1});
    stream->copy_to_device(*x, 0, std::as_bytes(std::span(tens)));
    stream->run({&launch, 1});
    expect_all(*x, 11);
  }
}

TEST_P(KernelTest, ARecordingIsReplayedManyTimes) {
  constexpr int64_t n = 1000;
  const auto x = upload(std::vector<float>(n, 0));
  const auto kernel = load(TestKernel::increment, n);
  const std::vector<BoundStep> launches(3, bind(kernel, {x.get()}));
  const auto recording = device->record(launches);
  for (int i = 0; i < 200; ++i) stream->run(*recording);
  expect_all(*x, 600);
  const auto other_stream = device->create_stream();
  stream->synchronize();
  other_stream->run(*recording);
  other_stream->synchronize();
  expect_all(*x, 603);
}

TEST_P(KernelTest, ARecordingIsDestroyedAfterItRan) {
  constexpr int64_t n = 100'000;
  const auto x = upload(std::vector<float>(n, 0));
  {
    const auto kernel = load(TestKernel::increment, n);
    const BoundStep launch = bind(kernel, {x.get()});
    const auto recording = device->record({&launch, 1});
    for (int i = 0; i < 10; ++i) stream->run(*recording);
    stream->run({&launch, 1});
  }
  expect_all(*x, 11);
}

TEST_P(KernelTest, NoLaunchesAreAllowed) {
  const auto recording = device->record({});
  stream->run(*recording);
  stream->run(std::span<const BoundStep>());
  stream->synchronize();
  EXPECT_TRUE(stream->time_each({}).empty());
}

TEST_P(KernelTest, PassesManyArguments) {
  constexpr int64_t n = 500;
  const auto kernel = load(TestKernel::sum20, n);
  std::vector<std::unique_ptr<Buffer>> inputs;
  const auto first = upload(std::vector<float>(n, 0)), second = upload(std::vector<float>(n, 0));
  BoundLaunch launch = std::get<BoundLaunch>(kernel.on({first->address()}));
  for (int i = 0; i < 20; ++i) {
    inputs.push_back(upload(std::vector<float>(n, static_cast<float>(1 << i))));
    launch.arguments.push_back(inputs.back()->address());
  }
  // Two tables in one sequence, recorded and not.
  std::vector<BoundStep> launches = {launch, launch};
  auto& other = std::get<BoundLaunch>(launches[1]);
  other.arguments[0] = second->address();
  other.arguments[1] = first->address();  // replaces the 1 by 2^20 - 1
  stream->run(launches);
  expect_all(*first, (1 << 20) - 1);
  expect_all(*second, (1 << 21) - 3);
  stream->fill(*first, 0, first->bytes(), 0);
  stream->fill(*second, 0, second->bytes(), 0);
  const auto recording = device->record(launches);
  stream->run(*recording);
  stream->run(*recording);
  expect_all(*first, (1 << 20) - 1);
  expect_all(*second, (1 << 21) - 3);
}

TEST_P(KernelTest, TheNumberOfArgumentsIsChecked) {
  const auto kernel = load(TestKernel::add, 10);
  const auto x = upload(std::vector<float>(10, 0));
  const BoundStep launch = bind(kernel, {x.get()});
  EXPECT_THROW(stream->run({&launch, 1}), InternalError);
  EXPECT_THROW(device->record({&launch, 1}), InternalError);
  const BoundStep nothing;
  EXPECT_THROW(stream->run({&nothing, 1}), InternalError);
}

TEST_P(KernelTest, ADamagedBinaryIsAnError) {
  if (!runs_kernels()) GTEST_SKIP() << "it takes no code";
  exec::StandaloneKernel binary = compile_test_kernel(*device, TestKernel::add, 10);
  binary.code.resize(7);
  EXPECT_THROW(device->load(binary), Error);
  binary.code.clear();
  EXPECT_THROW(device->load(binary), Error);
}

TEST_P(KernelTest, KernelsAreLoadedFromSeveralThreads) {
  constexpr int64_t n = 1000;
  const exec::StandaloneKernel binary = compile_test_kernel(*device, TestKernel::increment, n);
  std::vector<RunnableKernel> kernels(16);
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (size_t i = thread; i < kernels.size(); i += 4) kernels[i] = load_kernel(*device, binary);
    });
  for (std::thread& thread : threads) thread.join();
  const auto x = upload(std::vector<float>(n, 0));
  for (const RunnableKernel& kernel : kernels) {
    const BoundStep launch = bind(kernel, {x.get()});
    stream->run({&launch, 1});
  }
  expect_all(*x, 16);
}

TEST_P(KernelTest, TwoStreamsRunFromTwoThreads) {
  constexpr int64_t n = 20'000;
  const auto kernel = load(TestKernel::increment, n);
  std::atomic<int> wrong = 0;
  const auto work = [&](float start) {
    const auto own = device->create_stream();
    std::vector<float> values(n, start);
    const auto x = device->allocate(n * sizeof(float));
    const BoundStep launch = bind(kernel, {x.get()});
    const auto recording = device->record({&launch, 1});
    for (int round = 0; round < 20; ++round) {
      own->copy_to_device(*x, 0, std::as_bytes(std::span(values)));
      own->run(*recording);
      own->run({&launch, 1});
      own->copy_to_host(std::as_writable_bytes(std::span(values)), *x, 0);
    }
    for (const float value : values) wrong += runs_kernels() && value != start + 40;
  };
  std::thread first(work, 0.0f), second(work, 1000.0f);
  first.join();
  second.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(KernelTest, TimesAreMeasured) {
  constexpr int64_t n = 100'000;
  const auto x = upload(std::vector<float>(n, 0));
  const auto kernel = load(TestKernel::increment, n);
  const std::vector<BoundStep> launches(5, bind(kernel, {x.get()}));
  const std::vector<double> each = stream->time_each(launches);
  ASSERT_EQ(each.size(), 5u);
  expect_all(*x, 5);
  const auto recording = device->record(launches);
  const double whole = stream->time(*recording, 10);
  expect_all(*x, 55);
  for (const double seconds : each) {
    EXPECT_EQ(seconds > 0, runs_kernels());
    EXPECT_LT(seconds, 10);
  }
  EXPECT_EQ(whole > 0, runs_kernels());
  EXPECT_LT(whole, 10);
}

TEST_P(KernelTest, ManyLaunchesAreTimedOneByOne) {
  const auto x = upload(std::vector<float>(10, 0));
  const auto kernel = load(TestKernel::increment, 10);
  const std::vector<BoundStep> launches(600, bind(kernel, {x.get()}));
  EXPECT_EQ(stream->time_each(launches).size(), 600u);
  expect_all(*x, 600);
}

}  // namespace
}  // namespace tcc::runtime
