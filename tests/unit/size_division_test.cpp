#include "scheduler/size_division.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "scheduler/sized_choices.h"

namespace tcc::sched {
namespace {

std::vector<GridBox> divide_sizes(const std::vector<size_t>& shape,
                                  const std::vector<std::vector<double>>& losses, size_t most,
                                  double least_gain) {
  const std::vector<double> weights(losses.size(), 1.0 / static_cast<double>(losses.size()));
  SizeDivision division(shape, losses, weights);
  SizeDivision* const all[] = {&division};
  sched::divide_sizes(all, most, 100, least_gain);
  return division.boxes();
}

TEST(SizeDivision, OneChoiceIsOneBox) {
  const auto boxes = divide_sizes({3}, {{0, 0.5}, {0.1, 0.2}, {0, 0}}, 8, 0.01);
  ASSERT_EQ(boxes.size(), 1u);
  EXPECT_EQ(boxes[0].choice, 0u);
  EXPECT_EQ(boxes[0].last, std::vector<size_t>{2});
}

TEST(SizeDivision, ChoosesWhereItGains) {
  const std::vector<std::vector<double>> losses = {{0, 1}, {0, 1}, {1, 0}, {1, 0}, {1, 0}};
  const auto boxes = divide_sizes({5}, losses, 8, 0.01);
  ASSERT_EQ(boxes.size(), 2u);
  EXPECT_EQ(boxes[0].choice, 0u);
  EXPECT_EQ(boxes[0].last[0], 1u);
  EXPECT_EQ(boxes[1].choice, 1u);
  EXPECT_EQ(boxes[1].first[0], 2u);
  EXPECT_EQ(divide_sizes({5}, losses, 1, 0.01).size(), 1u);
  EXPECT_EQ(divide_sizes({5}, losses, 8, 0.5).size(), 1u) << "a gain of 2 / 5 is too little";
}

// A config that is no choice in some cells is taken in others alone.
TEST(SizeDivision, LeavesOutWhatIsNoChoice) {
  const auto boxes = divide_sizes({3}, {{0.5, 0}, {0.5, 0}, {0, kNoChoice}}, 8, 0.01);
  ASSERT_EQ(boxes.size(), 2u);
  EXPECT_EQ(boxes[0].choice, 1u);
  EXPECT_EQ(boxes[1].choice, 0u);
}

TEST(SizeDivision, BoxesCoverAGridOnce) {
  std::vector<std::vector<double>> losses;
  for (size_t i = 0; i < 6 * 7; ++i) {
    const size_t a = i / 7, b = i % 7;
    losses.push_back({0.1, a + b < 5 ? 0.0 : 0.4, a > 3 && b < 2 ? 0.0 : 0.3, b > 4 ? 0.0 : 0.2});
  }
  for (size_t most = 1; most <= 8; ++most) {
    const auto boxes = divide_sizes({6, 7}, losses, most, 0.001);
    std::set<size_t> choices;
    for (const GridBox& box : boxes) choices.insert(box.choice);
    EXPECT_EQ(choices.size(), std::min<size_t>(most, 4));
    for (size_t a = 0; a < 6; ++a)
      for (size_t b = 0; b < 7; ++b) {
        const std::vector<size_t> cell = {a, b};
        size_t found = 0;
        for (const GridBox& box : boxes) found += box.contains(cell) ? 1 : 0;
        EXPECT_EQ(found, 1u) << a << ", " << b;
      }
  }
  EXPECT_GT(divide_sizes({6, 7}, losses, 8, 0.001).size(), 3u);
}

// Each cell takes the choice that loses least there, and keeps that of the cell before for as good.
TEST(SizeDivision, ChoicesComeAgain) {
  const std::vector<std::vector<double>> losses = {{0, 1}, {1, 0}, {0, 1}, {0.001, 0}, {1, 0}};
  const auto boxes = divide_sizes({5}, losses, 8, 0.01);
  ASSERT_EQ(boxes.size(), 4u);
  EXPECT_EQ(boxes[0].choice, 0u);
  EXPECT_EQ(boxes[1].choice, 1u);
  EXPECT_EQ(boxes[2].choice, 0u);
  EXPECT_EQ(boxes[2].first[0], 2u);
  EXPECT_EQ(boxes[2].last[0], 3u);
  EXPECT_EQ(boxes[3].choice, 1u);
}

// The best single choice is none of the best two.
TEST(SizeDivision, ExchangesChoices) {
  const std::vector<std::vector<double>> losses = {
      {0, 1, 0.4}, {0, 1, 0.4}, {1, 0, 0.4}, {1, 0, 0.4}};
  for (const GridBox& box : divide_sizes({4}, losses, 2, 0.01)) EXPECT_LT(box.choice, 2u);
}

// Further choices go to the division whose gain weighs most.
TEST(SizeDivision, DivisionsShareChoices) {
  const std::vector<std::vector<double>> losses = {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}};
  const std::vector<double> little(3, 0.2 / 3), much(3, 0.8 / 3);
  SizeDivision a({3}, losses, little), b({3}, losses, much);
  SizeDivision* const both[] = {&a, &b};
  sched::divide_sizes(both, 8, 3, 0.01);
  EXPECT_EQ(a.boxes().size(), 2u);
  EXPECT_EQ(b.boxes().size(), 3u);
  EXPECT_EQ(b.next_gain(), 0);
  sched::divide_sizes(both, 8, 100, 0.1);
  EXPECT_EQ(a.boxes().size(), 2u) << "a third of 0.2 is too little";
}

// A choice is for the cells that weigh most, however the others lose.
TEST(SizeDivision, CellsWeigh) {
  const std::vector<std::vector<double>> losses = {{0, 0.4}, {0, 0.4}, {0.3, 0}};
  const auto choice = [&](std::vector<double> weights) {
    SizeDivision division({3}, losses, std::move(weights));
    return division.boxes().front().choice;
  };
  EXPECT_EQ(choice({1, 1, 1}), 0u);
  EXPECT_EQ(choice({1, 1, 4}), 1u);
  EXPECT_EQ(choice({0, 0, 1}), 1u);
}

// A region gets a kernel for the sizes at which it takes much of the program's time.
TEST(SizedRegions, CountByTheirPartOfTheTimeAtEachSize) {
  const auto region = [](double at_small, double at_large) {
    SizedRegion one;
    one.axes = {{SymInt::symbol("B"), {{1, 8, 4}, {9, 64, 32}}}};
    // The first option is the best one for small sizes, the other for large ones.
    one.cells = {{1, at_small, {{"B", 4}}, {0, 0.2}}, {1, at_large, {{"B", 32}}, {0.1, 0}}};
    return one;
  };
  SizedRegion regions[] = {region(9e-6, 1e-6), region(1e-6, 99e-6)};
  divide_sizes(regions);
  EXPECT_EQ(regions[0].division->boxes().size(), 1u);
  EXPECT_EQ(regions[1].division->boxes().size(), 2u);
  EXPECT_EQ(&regions[0].cell_of({{"B", 9}}), &regions[0].cells[1]);
}

TEST(SizeCells, CoverARange) {
  const auto check = [](ir::Interval range, int64_t usual, size_t count) {
    const std::vector<SizeCell> cells = size_cells(range, usual, count);
    EXPECT_LE(cells.size(), count);
    int64_t next = range.lo;
    for (const SizeCell& cell : cells) {
      EXPECT_EQ(cell.least, next);
      EXPECT_LE(cell.least, cell.usual);
      EXPECT_LE(cell.usual, cell.most);
      next = cell.most + 1;
    }
    EXPECT_EQ(next, range.hi + 1);
    return cells;
  };
  EXPECT_EQ(check({1, 1}, 1, 24).size(), 1u);
  EXPECT_EQ(check({0, 0}, 0, 24).size(), 1u);
  EXPECT_EQ(check({0, 1}, 1, 24).size(), 1u) << "0 is no cell of its own";
  EXPECT_EQ(check({1, 8}, 3, 24).size(), 6u);  // 1, 2, 3, 4, 5..6, 7..8
  EXPECT_EQ(check({1, 4096}, 64, 24).back().most, 4096);
  EXPECT_EQ(check({1, 4096}, 64, 24).size(), 24u);
  EXPECT_EQ(check({100, 130}, 114, 24).size(), 2u);
  check({1, 4096}, 64, 8);
  check({1, 4096}, 64, 1);
  check({5, 512}, 50, 7);
  const auto free = check({0, ir::kMostSize}, 16, 24);
  EXPECT_LT(free.back().usual, 1 << 13) << "sizes far from the usual one are one cell";
}

}  // namespace
}  // namespace tcc::sched
