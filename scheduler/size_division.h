// Divides grids of sizes into few boxes with one choice each, so that the choices together lose
// least.
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

// A choice that is none in a cell loses this much there.
inline constexpr double kNoChoice = 1e6;

// A grid of `shape` cells, at first one box. `losses` has for each cell, in row-major order, what
// each choice loses there: the logarithm of its time over the best one's. One choice at least must
// be one in all cells.
class SizeDivision {
 public:
  SizeDivision(std::vector<size_t> shape, std::vector<std::vector<double>> losses);

  // In ascending order.
  std::vector<GridBox> boxes() const;
  // How much the mean loss of the cells falls by the cut of a box in two that gains most; 0: there
  // is none.
  double next_gain() const;
  void cut();

 private:
  struct Part {
    GridBox box;
    double loss = 0;  // of its cells, summed
  };
  struct Cut {
    size_t part;
    double gain;
    Part low, high;
  };
  void choose(Part& part) const;
  void find_cut(size_t number);
  void find_next();

  std::vector<size_t> shape_;
  std::vector<std::vector<double>> losses_;
  std::vector<Part> parts_;
  std::optional<Cut> next_;
};

// Cuts boxes of all divisions, each time the one that gains most, times the weight of its division:
// no division gets more than `most_boxes`, there are at most `most_cuts`, and each gains
// `least_gain`.
void divide_sizes(std::span<SizeDivision* const> divisions, std::span<const double> weights,
                  size_t most_boxes, size_t most_cuts, double least_gain);

}  // namespace tcc::sched
