// A launch that a program repeats, as often as its sizes say: files, checks, counts.
#include <gtest/gtest.h>

#include <functional>

#include "executable/fields.h"
#include "executable/serialize.h"
#include "tests/expect_error.h"
#include "tests/unit/sample_executable.h"

namespace tcc::exec {
namespace {

KernelLaunch& launch_of(Executable& e) { return std::get<KernelLaunch>(e.steps[0]); }

// The sample, whose launch is repeated n + 1 times.
Executable repeated() {
  Executable e = sample(SymInt::symbol("n"));
  launch_of(e).times = SymInt::symbol("n") + 1;
  return e;
}

Executable read(const Bytes& bytes) {
  return read_executable(std::make_shared<const Bytes>(bytes), bytes, "file");
}

TEST(LaunchesInARow, AreWrittenAndRead) {
  const Bytes bytes = written(repeated());
  Executable back = read(bytes);
  EXPECT_EQ(launch_of(back).times, SymInt::symbol("n") + 1);
  EXPECT_EQ(written(back), bytes);
}

TEST(LaunchesInARow, AreCounted) {
  Executable e = repeated();
  EXPECT_EQ(launches(e).size(), 1u);
  EXPECT_EQ(count_usual_launches(e), 2);  // a symbol's usual value is 1
  EXPECT_EQ(usual_counts(e), (std::vector<int>{2, 1, 1, 1}));
  e.tables = {{{{{{SymInt::symbol("n"), 0, 8}}}}}};
  launch_of(e).chosen = {0, 0};
  EXPECT_EQ(count_usual_launches(e), 0) << "the last choice is the usual one";
  EXPECT_EQ(usual_counts(e), (std::vector<int>{0, 1, 1, 1}));
}

TEST(LaunchesInARow, AreChecked) {
  const auto refused = [](const std::function<void(Executable&)>& change, const char* reason) {
    Executable e = repeated();
    change(e);
    EXPECT_ERROR_KIND(read(written(e)), ErrorKind::bad_input, reason);
  };
  const char* without = "launches in a row without a number";
  refused([](auto& e) { launch_of(e).arguments.back() = Address{0}; }, without);
  refused([](auto& e) { std::get<Scalar>(launch_of(e).arguments.back()).dtype = DType::i64; },
          without);
  refused(
      [](auto& e) {
        launch_of(e).arguments.clear();
        launch_of(e).maps.clear();
        e.kernels[0].num_arguments = e.kernels[0].num_maps = 0;
        e.kernels[0].alignments.clear();
      },
      without);
  refused([](auto& e) { launch_of(e).times = SymInt::symbol("m"); }, "no symbol 'm'");
  Executable fixed = sample();
  launch_of(fixed).times = (1 << 20) + 1;
  EXPECT_ERROR_KIND(read(written(fixed)), ErrorKind::bad_input, "a number of launches in a row is");
  launch_of(fixed).times = -1;
  EXPECT_ERROR_KIND(read(written(fixed)), ErrorKind::bad_input, "a number of launches in a row is");
  launch_of(fixed).times = 0;
  EXPECT_NO_THROW(read(written(fixed)));
}

// All launches in a row of a file together are limited, too.
TEST(LaunchesInARow, AreFewAtTheSizesOfARun) {
  Executable e = repeated();
  e.steps.insert(e.steps.begin(), e.steps[0]);
  launch_of(e).times = SymInt::symbol("n") * 8;
  EXPECT_NO_THROW(check(e, {{{"n", 1000}}}));
  EXPECT_ERROR_KIND(check(e, {{{"n", 120'000}}}), ErrorKind::bad_input,
                    "a number of launches in a row is 120001, outside [0, 88576]");
  launch_of(e).times = SymInt(8) - SymInt::symbol("n");
  EXPECT_NO_THROW(check(e, {{{"n", 8}}}));
  EXPECT_ERROR_KIND(check(e, {{{"n", 12}}}), ErrorKind::bad_input,
                    "a number of launches in a row is -4");
}

TEST(LaunchesInARow, AreOneInAnOlderFormat) {
  Executable e = sample();
  KernelLaunch launch = launch_of(e);
  launch.maps.clear();  // they have more fields, too
  Writer writer;
  field(writer, launch);
  const std::vector<uint8_t> bytes = writer.take();
  KernelLaunch back;
  // Before the two amounts, of a factor and a number each, a field says that it is a number, and
  // which.
  Reader older(std::span<const uint8_t>(bytes).first(bytes.size() - (2 + 6) * sizeof(int64_t)),
               "file", 12);
  field(older, back);
  EXPECT_NO_THROW(older.end());
  EXPECT_TRUE(back.times.is(1));
  EXPECT_EQ(back.layers, launch.layers);

  // Sequences had a number there.
  StandaloneSequence::Launch one;
  one.buffers = {3, 4};
  Writer sequence;
  field(sequence, static_cast<StandaloneKernel&>(one.kernel));
  field(sequence, one.buffers);
  sequence.number(int64_t{7});
  const std::vector<uint8_t> old = sequence.take();
  Reader reader(old, "worker", 12);
  StandaloneSequence::Launch read_back;
  field(reader, read_back);
  EXPECT_NO_THROW(reader.end());
  EXPECT_TRUE(read_back.times.is(7));
}

}  // namespace
}  // namespace tcc::exec
