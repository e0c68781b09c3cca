// Programs of hostile files, on a device that runs no kernel.
#include "runtime/program.h"

#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "executable/serialize.h"
#include "support/error.h"
#include "tests/expect_error.h"
#include "tests/unit/sample_executable.h"

namespace tcc::runtime {
namespace {

using exec::Bytes;
using exec::Executable;

// One constant of zeros under a key that is not its own.
class Claims final : public exec::ConstantStore {
 public:
  explicit Claims(size_t bytes) : zeros_(std::make_shared<const Bytes>(bytes)) {}
  exec::ConstantBytes load(size_t) const override { return {zeros_, *zeros_, kKey}; }
  std::optional<Hash128> key(size_t) const override { return kKey; }

 private:
  static constexpr Hash128 kKey = {1, 2};
  std::shared_ptr<const Bytes> zeros_;
};

TEST(Programs, ConstantsOfOneKeyAndAnotherSizeAreNotShared) {
  const auto device = open_device("null");
  const auto stream = device->create_stream();
  const auto get = [&](size_t bytes) {
    Executable executable;
    executable.constants = {{"w", static_cast<int64_t>(bytes)}};
    executable.store = std::make_shared<const Claims>(bytes);
    return device->constants().get(*device, *stream, executable, 0);
  };
  const auto small = get(16), large = get(4096), same = get(16);
  EXPECT_EQ(small->bytes(), 16);
  EXPECT_EQ(large->bytes(), 4096);
  EXPECT_EQ(small, same);
}

TEST(Programs, MutableWeightsAreNotShared) {
  const auto device = open_device("null");
  Executable executable = exec::sample();  // two constants of equal bytes, the first is mutable
  executable.steps.pop_back();
  const Program one(device, executable), other(device, executable);
  EXPECT_NE(one.constant(0), other.constant(0));
  EXPECT_NE(one.constant(0), one.constant(1));
  EXPECT_EQ(one.constant(1), other.constant(1));
}

// An input may be the shorter, the longer a state is.
TEST(Programs, OwnBuffersHaveRoomForEachLengthOfAState) {
  Executable executable = exec::sample();
  const exec::SymInt p = exec::SymInt::symbol("p");
  executable.dims = {{"p", {0, 6, 1}}};
  executable.states = {{5, -1, 0, 0, 2}};
  executable.buffers[0].shape = executable.buffers[1].shape = {p * -1 + 9};
  executable.buffers[0].bytes = executable.buffers[1].bytes = p * -4 + 36;
  executable.steps = {exec::Copy{{1}, {0}, executable.buffers[0].bytes}};
  Context context(std::make_shared<const Program>(open_device("null"), executable));
  for (const int64_t elements : {9, 7, 5, 3}) {
    Tensor input(DType::f32, {elements});
    input.set(elements - 1, 3);
    const std::vector<Tensor> outputs = context.run(std::vector<Tensor>{input});
    ASSERT_EQ(outputs.at(0).shape(), std::vector<int64_t>{elements});
    EXPECT_EQ(outputs[0].get(elements - 1), 3);
  }
}

// One fill at the beginning of a run serves the counters of two kernels, of which the first is
// followed by a kernel that reads what it left.
TEST(Programs, AStepAloneFindsItsCountersFilled) {
  using Kind = exec::BufferInfo::Kind;
  Executable executable = exec::sample();
  executable.states.clear();
  executable.buffers = {
      exec::buffer(Kind::input, "x", 8, 0),         exec::buffer(Kind::output, "y", 8, 0),
      exec::buffer(Kind::constant, "w", 4, 0),      exec::buffer(Kind::constant, "v", 4, 1),
      exec::buffer(Kind::workspace, "zeros", 4, 0), exec::buffer(Kind::workspace, "first", 2, 0),
      exec::buffer(Kind::workspace, "last", 2, 8),  exec::buffer(Kind::workspace, "sums", 8, 16)};
  executable.arena_bytes = 48;
  auto launch = std::get<exec::KernelLaunch>(executable.steps[0]);
  const auto with = [&](int counters) {
    launch.arguments = {exec::Address{0}, exec::Address{counters}, exec::Address{7}};
    return launch;
  };
  executable.steps = {exec::Fill{{4}, 16, 0}, with(5), with(5), with(6)};
  exec::check(executable);
  const auto device = open_device("null");
  std::shared_ptr<Buffer> arena = device->allocate(48);
  Context context(std::make_shared<const Program>(device, executable), nullptr, {}, [&](int64_t) {
    return StateMemory{arena, 0};
  });
  Tensor x(DType::f32, {8});
  context.run({&x, 1});
  const auto bytes_after = [&](size_t step) {
    context.stream().fill(*arena, 0, 48, 7);
    context.run_step(step);
    std::vector<std::byte> words(48);
    context.stream().copy_to_host(words, *arena, 0);
    std::string text;
    for (size_t word = 0; word < 48; word += 4) text += words[word] == std::byte{0} ? '0' : '7';
    return text;
  };
  EXPECT_EQ(bytes_after(0), "000077777777");
  EXPECT_EQ(bytes_after(1), "007777777777");
  EXPECT_EQ(bytes_after(2), "777777777777");
  EXPECT_EQ(bytes_after(3), "770077777777");
}

// Memory that a changed file asks for, as far as it is written at once.
int64_t own_bytes(const Executable& executable) {
  int64_t bytes = executable.arena_bytes.value();
  for (const exec::BufferInfo& buffer : executable.buffers)
    if (buffer.alias < 0) bytes = std::max(bytes, buffer.bytes.value());
  return bytes;
}

// Whatever passed the checks of reading can be loaded and run: copies and fills are done, and
// sanitizers see them. Nothing but an Error of the input or the device ends it.
// A context takes the memory of the steps of sizes that it forgets.
TEST(Programs, StepsAreThoseOfTheSizeHoweverManyCameBefore) {
  const exec::SymInt n = exec::SymInt::symbol("n");
  Executable executable = exec::sample(n);
  executable.states.clear();
  executable.buffers[5].kind = exec::BufferInfo::Kind::workspace;
  executable.buffers[5].offset = 0;
  executable.steps.pop_back();
  // Large sizes have one launch more, ahead of the others and with other arguments.
  auto more = std::get<exec::KernelLaunch>(executable.steps[0]);
  more.grid[0] = ir::floordiv(n, 64);
  more.arguments = {exec::Address{4}, exec::Address{0}, exec::Scalar{DType::i32, n + 1}};
  more.maps[0].argument = 1;
  executable.steps.insert(executable.steps.begin(), more);
  exec::check(executable);
  const auto device = open_device("null");
  const auto program = std::make_shared<const Program>(device, executable);
  constexpr int64_t kMost = 4 * 40;
  const auto in = device->allocate(kMost * 4), out = device->allocate(kMost * 4);
  const DeviceAddress inputs[] = {in->address()}, outputs[] = {out->address()};
  Context context(program, nullptr, {{"n", 4}});
  ASSERT_GT(kMost / 4, static_cast<int64_t>(2 * Context::kKeptSizes));
  for (const int64_t step : {4, 12})
    for (int64_t size = 4; size <= kMost; size += step) {
      context.set_dims({{"n", size}});
      Context fresh(program, nullptr, {{"n", size}});
      const std::span<const BoundStep> steps = context.steps_on(inputs, outputs),
                                       wanted = fresh.steps_on(inputs, outputs);
      ASSERT_EQ(steps.size(), size < 64 ? 3U : 4U);
      ASSERT_EQ(steps.size(), wanted.size());
      for (size_t i = 0; i < steps.size(); ++i) {
        ASSERT_EQ(steps[i].index(), wanted[i].index()) << size;
        if (const auto* launch = std::get_if<BoundLaunch>(&steps[i])) {
          const auto& same = std::get<BoundLaunch>(wanted[i]);
          EXPECT_EQ(launch->grid, same.grid) << size;
          EXPECT_EQ(launch->maps, same.maps) << size;
          ASSERT_EQ(launch->arguments.size(), 3U);
          EXPECT_EQ(launch->arguments[2], same.arguments[2]) << size;
        } else if (const auto* copy = std::get_if<BoundCopy>(&steps[i])) {
          EXPECT_EQ(copy->to, outputs[0]);
          EXPECT_EQ(copy->bytes, size * 4);
        } else {
          EXPECT_EQ(std::get<BoundFill>(steps[i]).bytes, 4) << size;
        }
      }
    }
}

TEST(Programs, OfChangedFilesRunOrAreRefused) {
  const auto device = open_device("null");
  Executable original = exec::sample();
  original.steps.pop_back();
  const Bytes bytes = exec::written(original);
  const size_t footer = bytes.size() - 40;
  int64_t begin = 0, size = 0;
  std::memcpy(&begin, &bytes[footer], 8);
  std::memcpy(&size, &bytes[footer + 8], 8);
  std::mt19937 random(7);
  int ran = 0, refused = 0;
  for (int round = 0; round < 6000; ++round) {
    auto changed = std::make_shared<Bytes>(bytes);
    const std::span payload =
        std::span(*changed).subspan(static_cast<size_t>(begin), static_cast<size_t>(size));
    for (uint32_t changes = 1 + random() % 3; changes > 0; --changes)
      payload[random() % payload.size()] =
          static_cast<std::byte>(random() % 2 ? random() % 16 : random());
    const Hash128 checksum = content_hash(payload);
    std::memcpy(&(*changed)[footer + 16], &checksum, sizeof checksum);
    try {
      Executable executable = exec::read_executable(changed, *changed, "file");
      if (!executable.dims.empty() || own_bytes(executable) > 1 << 24) continue;
      Context context(std::make_shared<const Program>(device, std::move(executable)));
      context.replay();
      context.outputs();
      ++ran;
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(ran, 300);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace tcc::runtime
