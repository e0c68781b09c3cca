// Chooses which of several options serves which sizes, so that few options together lose least.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tcc::sched {

// Cells of a grid from `first` to `last` along each axis, inclusive.
struct GridBox {
  std::vector<size_t> first, last;
  size_t choice = 0;
  bool contains(std::span<const size_t> cell) const;
};

// An option that is none in a cell loses this much there.
inline constexpr double kNoChoice = 1e6;

// A grid of `shape` cells, at first with one choice for all of them. `losses` has for each cell, in
// row-major order, what each option loses there: the logarithm of its time over the best one's;
// `weights` has what the cell weighs. One option at least must be one in all cells of a weight.
// Each cell takes the choice that loses least there, so that the cells of a choice need not be
// neighbours.
class SizeDivision {
 public:
  SizeDivision(std::vector<size_t> shape, std::vector<std::vector<double>> losses,
               std::vector<double> weights);

  // Boxes that cover the grid once, in ascending order of their first cells. Several may have the
  // same choice.
  std::vector<GridBox> boxes() const;
  // By how much the sum of the cells' losses, times their weights, falls by the further choice that
  // gains most; 0: there is none.
  double next_gain() const { return now_.loss - next_.loss; }
  void add();

 private:
  // Some of the options, and what the cells lose with them.
  struct Choices {
    std::vector<size_t> options;
    double loss = 0;
  };
  double loss_of(std::span<const size_t> options) const;
  Choices swapped(Choices choices) const;
  void find_next();
  size_t choice_of(size_t cell, std::optional<size_t> before) const;

  std::vector<size_t> shape_;
  std::vector<std::vector<double>> losses_;
  std::vector<double> weights_;
  Choices now_, next_;
};

// Adds choices to the divisions, each time the one that gains most: no division gets more than
// `most_choices`, at most `most_added` are added, and each gains `least_gain`.
void divide_sizes(std::span<SizeDivision* const> divisions, size_t most_choices, size_t most_added,
                  double least_gain);

}  // namespace tcc::sched
