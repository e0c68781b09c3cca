// Tables of an executable: which steps run at which sizes.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "executable/fields.h"
#include "executable/fit.h"
#include "executable/kernel_sizes.h"
#include "tests/expect_error.h"
#include "tests/unit/sample_executable.h"

namespace tcc::exec {
namespace {

// The sample, whose launch has another grid for n up to 8, and another one for 9 to 64.
Executable with_table() {
  const SymInt n = SymInt::symbol("n");
  Executable e = sample(n);
  e.tables = {{{{{{n, 0, 8}}}, {{{n, 9, 64}, {n * 2, 0, 200}}}}}};
  const auto launch = std::get<KernelLaunch>(e.steps[0]);
  e.steps.erase(e.steps.begin());
  for (const int choice : {2, 1, 0}) {
    KernelLaunch one = launch;
    one.chosen = {0, choice};
    one.grid = {choice + 1, 1, 1};
    e.steps.insert(e.steps.begin(), one);
  }
  std::get<Fill>(e.steps[4]).chosen = {0, 2};
  return e;
}

Executable read(const Bytes& bytes) {
  return read_executable(std::make_shared<const Bytes>(bytes), bytes, "file");
}

TEST(SizeTables, AreWrittenAndRead) {
  const Bytes bytes = written(with_table());
  const Executable back = read(bytes);
  ASSERT_EQ(back.tables.size(), 1u);
  EXPECT_EQ(back.tables[0].conditions, with_table().tables[0].conditions);
  EXPECT_EQ(std::get<KernelLaunch>(back.steps[1]).chosen.choice, 1);
  EXPECT_EQ(std::get<Fill>(back.steps[4]).chosen.table, 0);
  EXPECT_EQ(written(back), bytes);
}

// A launch says its work by sizes; of older files that of its kernel is known.
TEST(SizeTables, WorkOfALaunchIsBySizes) {
  Executable e = with_table();
  auto& launch = std::get<KernelLaunch>(e.steps[1]);
  launch.flops = {2.5, SymInt::symbol("n") * 4};
  launch.bytes = {1, SymInt::symbol("n") * 8 + 16};
  const Executable back = read(written(e));
  const auto& same = std::get<KernelLaunch>(back.steps[1]);
  const Sizes sizes = {{{"n", 10}}};
  EXPECT_EQ(sizes.of(same.flops), 100);
  EXPECT_EQ(sizes.of(same.bytes), 96);
  EXPECT_EQ(same.bytes.usual(), 24) << "a symbol's usual value is 1";
  launch.bytes.count = SymInt::symbol("m");
  EXPECT_ERROR_KIND(read(written(e)), ErrorKind::bad_input, "no symbol 'm'");
}

// Reports say sizes by dims, also where expressions have their multiples.
TEST(SizeTables, AreSaidByDims) {
  Executable e = with_table();
  EXPECT_EQ(sizes_text(e, {0, 0}), "n in 0..8");
  EXPECT_EQ(sizes_text(e, {0, 1}), "n in 9..64, n*2 in 0..200");
  EXPECT_EQ(sizes_text(e, {0, 2}), "else");
  EXPECT_EQ(sizes_text(e, {}), "");
  EXPECT_TRUE(bounds_of(e, {0, 2}).empty());
  EXPECT_EQ(choices_of(e, 0).size(), 3u);
  EXPECT_EQ(most_launches(e, 0), 1);
  const std::vector<int> second = {0, 1, 0, 0, 0};
  EXPECT_EQ(launch_counts(e, second).at(0), 1);
  // A run has the kernel by one of the choices.
  EXPECT_EQ(layers_of(e, 0), (std::vector<std::string>{"first", "second"}));
  Executable two = e;
  two.steps.push_back(two.steps[0]);  // another region, with a table of its own
  std::get<KernelLaunch>(two.steps.back()).chosen = {1, 0};
  std::get<KernelLaunch>(two.steps.back()).layers = {"third"};
  EXPECT_EQ(layers_of(two, 0), (std::vector<std::string>{"first", "second", "third"}));
  e.dims = {{"n", {8, 64, 8}}, {"m", {0, 10, 1}}};
  const SymInt n = SymInt::symbol("n_by_8"), m = SymInt::symbol("m");
  const int64_t most = std::numeric_limits<int64_t>::max();
  e.tables[0].conditions = {{{{n * m, 1, 80}, {n, 0, most}}},
                            {{{n * 3 + m, 2, 9}}, {{n, 5, 5}, {m, 0, 1}}}};
  EXPECT_EQ(sizes_text(e, {0, 0}), str("m*n in 8..640, (n//8) in 0..", most));
  EXPECT_EQ(bounds_of(e, {0, 0}).at(0).at(0).least, 8);
  EXPECT_EQ(sizes_text(e, {0, 1}), "(n//8)*3+m in 2..9 or n = 40, m in 0..1");
  // A launch that always runs.
  KernelLaunch always = std::get<KernelLaunch>(e.steps[0]);
  always.chosen = {};
  e.steps.emplace_back(always);
  EXPECT_TRUE(choices_of(e, 0).empty());
  EXPECT_EQ(most_launches(e, 0), 2);
}

TEST(SizeTables, ChooseSteps) {
  const Executable e = with_table();
  const auto choice = [&](int64_t n) { return choices(e, {{{"n", n}}}).at(0); };
  EXPECT_EQ(choice(0), 0);
  EXPECT_EQ(choice(8), 0);
  EXPECT_EQ(choice(9), 1);
  EXPECT_EQ(choice(64), 1);
  EXPECT_EQ(choice(65), 2);
  const std::vector<int> first = {0}, last = {2};
  EXPECT_TRUE(runs(e.steps[0], first));
  EXPECT_FALSE(runs(e.steps[0], last));
  EXPECT_TRUE(runs(e.steps[2], last));
  EXPECT_TRUE(runs(e.steps[3], first)) << "a copy of no table";
  EXPECT_FALSE(runs(e.steps[4], first));
  EXPECT_EQ(launches(e).size(), 3u);
  ASSERT_EQ(usual_launches(e).size(), 1u);
  EXPECT_EQ(usual_launches(e)[0]->chosen.choice, 2);
}

TEST(SizeTables, AChoiceMayHaveSeveralConditions) {
  Executable e = with_table();
  const SymInt n = SymInt::symbol("n");
  e.tables[0].conditions[0].push_back({{n, 70, 80}});
  EXPECT_NO_THROW(check(e));
  const auto choice = [&](int64_t size) { return choices(e, {{{"n", size}}}).at(0); };
  EXPECT_EQ(choice(69), 2);
  EXPECT_EQ(choice(70), 0);
  EXPECT_EQ(choice(80), 0);
  EXPECT_EQ(choice(81), 2);
  EXPECT_EQ(to_string(e.tables[0].conditions[0]), "n in 0..8 or n in 70..80");
  const Executable back = read(written(e));
  EXPECT_EQ(back.tables[0].conditions, e.tables[0].conditions);
}

// Steps that do not run need not fit the sizes.
TEST(SizeTables, StepsThatDoNotRunAreNotChecked) {
  Executable e = with_table();
  std::get<KernelLaunch>(e.steps[0]).grid[0] = SymInt(8) - SymInt::symbol("n");
  EXPECT_NO_THROW(check(e, {{{"n", 8}}}));
  EXPECT_NO_THROW(check(e, {{{"n", 100}}}));
  std::get<KernelLaunch>(e.steps[2]).grid[0] = SymInt(8) - SymInt::symbol("n");
  EXPECT_ERROR_KIND(check(e, {{{"n", 100}}}), ErrorKind::bad_input, "workgroups");
  std::get<KernelLaunch>(e.steps[0]).loop_iterations = 1000;
  Target target;
  target.max_loop_iterations = 200;
  EXPECT_NO_THROW(check_loops(e, {{{"n", 100}}}, target));
  EXPECT_ERROR_KIND(check_loops(e, {{{"n", 8}}}, target), ErrorKind::device, "1000");
}

TEST(SizeTables, AreCheckedBeforeTheyAreUsed) {
  const auto refused = [](const std::function<void(Executable&)>& change, const char* reason) {
    Executable e = with_table();
    change(e);
    EXPECT_ERROR_KIND(check(e), ErrorKind::bad_input, reason);
  };
  const SymInt n = SymInt::symbol("n");
  EXPECT_NO_THROW(check(with_table()));
  refused([](auto& e) { std::get<KernelLaunch>(e.steps[0]).chosen.table = 1; },
          "a step's table is 1");
  refused([](auto& e) { std::get<KernelLaunch>(e.steps[0]).chosen.table = -2; },
          "a step's table is -2");
  refused([](auto& e) { std::get<KernelLaunch>(e.steps[0]).chosen.choice = 3; },
          "a step's choice is 3");
  refused([](auto& e) { std::get<Fill>(e.steps[4]).chosen.choice = -1; }, "a step's choice is -1");
  refused([](auto& e) { e.tables[0].conditions[0][0].clear(); },
          "a condition's number of bounds is 0");
  refused([](auto& e) { e.tables[0].conditions[0][0][0].least = 9; }, "a condition's bound is 8");
  refused([](auto& e) { e.tables[0].conditions[1][0][0].least = 8; },
          "a table's conditions 'n in 0..8' and 'n in 8..64, n*2 in 0..200' may hold at once");
  refused([&](auto& e) { e.tables[0].conditions[0][0][0].number = n * 3; }, "may hold at once");
  refused([](auto& e) { e.tables[0].conditions[0][0][0].number = SymInt::symbol("m"); },
          "no symbol 'm'");
  refused(
      [&](auto& e) {
        e.tables[0].conditions.clear();
        for (int i = 0; i < kMostChoices; ++i) e.tables[0].conditions.push_back({{{n, i, i}}});
      },
      "a table's number of choices is 17");
  refused([](auto& e) { e.tables[0].conditions[1].clear(); },
          "a choice's number of conditions is 0");
  refused(
      [&](auto& e) {
        for (int i = 0; i < kMostConditions; ++i)
          e.tables[0].conditions[0].push_back({{n, 100 + i, 100 + i}});
      },
      "a choice's number of conditions is 129");
  refused([&](auto& e) { e.tables[0].conditions[0].push_back({{n, 64, 70}}); }, "may hold at once");
  refused([](auto& e) { e.tables.clear(); }, "a step's table is 0, outside [-1, -1]");
}

// A number that overflows is an error, not a choice.
TEST(SizeTables, NumbersMayOverflow) {
  Executable e = with_table();
  const SymInt n = SymInt::symbol("n");
  e.tables[0].conditions[0][0][0].number = n * n * n * n;
  e.tables[0].conditions[1] = {{{n * n * n * n, 9, 10}}};
  EXPECT_ERROR_KIND(choices(e, {{{"n", int64_t{1} << 30}}}), ErrorKind::bad_input, "");
}

// Whatever a part of a package says, which has no checksum of its own: it is read and checked, or
// refused.
TEST(SizeTables, AreReadOrRefusedWhereAByteChanged) {
  PackagePart part;
  part.executable = with_table();
  part.constants = {0, 0};
  const std::vector<uint8_t> bytes = write_part(part);
  int refused = 0, read_well = 0;
  for (size_t at = 16; at < bytes.size(); ++at)
    for (const int bit : {0, 2, 7}) {
      std::vector<uint8_t> changed = bytes;
      changed[at] ^= static_cast<uint8_t>(1 << bit);
      try {
        const PackagePart read =
            read_part(std::as_bytes(std::span<const uint8_t>(changed)), "part");
        for (const int64_t n : {0, 8, 9, 1000}) {
          try {
            check(read.executable, {{{"n", n}}});
          } catch (const Error&) {}
        }
        ++read_well;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::bad_input) << at;
        ++refused;
      }
    }
  EXPECT_GT(refused, 100);
  EXPECT_GT(read_well, 100);
}

// Format 12 has one condition a choice.
TEST(SizeTables, AreReadFromFormat12) {
  const SymInt n = SymInt::symbol("n");
  std::vector<SizeCondition> conditions = {{{n, 0, 8}}, {{n, 9, 64}, {n * 2, 0, 200}}};
  Writer writer;
  field(writer, conditions);
  const std::vector<uint8_t> bytes = writer.take();
  SizeTable read;
  Reader older(bytes, "file", 12);
  field(older, read);
  EXPECT_NO_THROW(older.end());
  EXPECT_EQ(read.conditions, with_table().tables[0].conditions);
}

// A file of format 11 has no tables.
TEST(SizeTables, AreNoneInAnOlderFormat) {
  Writer writer;
  KernelLaunch launch = std::get<KernelLaunch>(with_table().steps[0]);
  launch.maps.clear();  // they have more fields, too
  field(writer, launch);
  const std::vector<uint8_t> bytes = writer.take();
  KernelLaunch read;
  Reader older(std::span<const uint8_t>(bytes).first(bytes.size() - (4 + 6) * sizeof(int64_t)),
               "file", 11);
  field(older, read);
  EXPECT_NO_THROW(older.end());
  EXPECT_EQ(read.chosen.table, -1);
  EXPECT_EQ(read.layers, launch.layers);
}

}  // namespace
}  // namespace tcc::exec
