#include "scheduler/size_division.h"

#include <algorithm>
#include <limits>

#include "support/error.h"

namespace tcc::sched {
namespace {

// A cell stays with the choice of the one before it where that loses so little more.
constexpr double kEqual = 0.002;

}  // namespace

bool GridBox::contains(std::span<const size_t> cell) const {
  for (size_t d = 0; d < cell.size(); ++d)
    if (cell[d] < first[d] || cell[d] > last[d]) return false;
  return true;
}

SizeDivision::SizeDivision(std::vector<size_t> shape, std::vector<std::vector<double>> losses,
                           std::vector<double> weights)
    : shape_(std::move(shape)), losses_(std::move(losses)), weights_(std::move(weights)) {
  size_t cells = 1;
  for (const size_t side : shape_) cells *= side;
  TCC_CHECK(cells > 0 && losses_.size() == cells && weights_.size() == cells, losses_.size(),
            " cells and ", weights_.size(), " weights, not ", cells);
  for (size_t cell = 0; cell < cells; ++cell)
    if (weights_[cell] <= 0) std::ranges::fill(losses_[cell], 0);
  now_.loss = std::numeric_limits<double>::infinity();
  for (size_t option = 0; option < losses_.front().size(); ++option)
    if (const double loss = loss_of({&option, 1}); loss < now_.loss) now_ = {{option}, loss};
  find_next();
}

double SizeDivision::loss_of(std::span<const size_t> options) const {
  double sum = 0;
  for (size_t i = 0; i < losses_.size(); ++i) {
    const std::vector<double>& cell = losses_[i];
    double least = cell[options.front()];
    for (const size_t option : options) least = std::min(least, cell[option]);
    // An option that is none there is none however little the cell weighs.
    sum += least < kNoChoice ? weights_[i] * least : least;
  }
  return sum;
}

// Exchanges choices for options as long as that gains.
SizeDivision::Choices SizeDivision::swapped(Choices choices) const {
  for (bool is_better = true; is_better;) {
    is_better = false;
    for (size_t i = 0; i < choices.options.size(); ++i)
      for (size_t option = 0; option < losses_.front().size(); ++option) {
        std::vector<size_t> other = choices.options;
        other[i] = option;
        const double loss = loss_of(other);
        if (loss >= choices.loss - 1e-9) continue;
        choices = {std::move(other), loss};
        is_better = true;
      }
  }
  return choices;
}

void SizeDivision::find_next() {
  next_ = now_;
  for (size_t option = 0; option < losses_.front().size(); ++option) {
    std::vector<size_t> more = now_.options;
    more.push_back(option);
    if (const double loss = loss_of(more); loss < next_.loss) next_ = {std::move(more), loss};
  }
  if (next_.options.size() > now_.options.size()) next_ = swapped(std::move(next_));
}

void SizeDivision::add() {
  TCC_CHECK(next_.options.size() > now_.options.size(), "no option gains");
  now_ = next_;
  find_next();
}

size_t SizeDivision::choice_of(size_t cell, std::optional<size_t> before) const {
  const std::vector<double>& losses = losses_[cell];
  size_t best = now_.options.front();
  for (const size_t option : now_.options)
    if (losses[option] < losses[best]) best = option;
  return before && losses[*before] <= losses[best] + kEqual ? *before : best;
}

std::vector<GridBox> SizeDivision::boxes() const {
  std::vector<std::optional<size_t>> left;  // the choices of cells that no box has yet
  for (size_t cell = 0; cell < losses_.size(); ++cell)
    left.push_back(choice_of(cell, cell % shape_.back() == 0 ? std::nullopt : left.back()));
  const auto number_of = [&](std::span<const size_t> cell) {
    size_t number = 0;
    for (size_t d = 0; d < cell.size(); ++d) number = number * shape_[d] + cell[d];
    return number;
  };
  const auto each_cell = [&](const GridBox& box, const auto& use) {
    std::vector<size_t> cell = box.first;
    for (;;) {
      if (!use(number_of(cell))) return false;
      size_t d = cell.size();
      for (; d > 0 && cell[d - 1] == box.last[d - 1]; --d) cell[d - 1] = box.first[d - 1];
      if (d == 0) return true;
      ++cell[d - 1];
    }
  };
  std::vector<GridBox> boxes;
  for (size_t number = 0; number < left.size(); ++number) {
    if (!left[number]) continue;
    GridBox box{std::vector<size_t>(shape_.size()), {}, *left[number]};
    for (size_t d = shape_.size(), rest = number; d-- > 0; rest /= shape_[d])
      box.first[d] = rest % shape_[d];
    box.last = box.first;
    // As far as all cells have the choice, along the last axis first.
    for (size_t d = shape_.size(); d-- > 0;)
      for (;;) {
        GridBox more = box;
        more.first[d] = more.last[d] = box.last[d] + 1;
        const auto is_free = [&](size_t cell) { return left[cell] == box.choice; };
        if (more.last[d] >= shape_[d] || !each_cell(more, is_free)) break;
        box.last[d] = more.last[d];
      }
    each_cell(box, [&](size_t cell) {
      left[cell].reset();
      return true;
    });
    boxes.push_back(std::move(box));
  }
  return boxes;
}

void divide_sizes(std::span<SizeDivision* const> divisions, size_t most_choices, size_t most_added,
                  double least_gain) {
  std::vector<size_t> choices(divisions.size(), 1);
  for (size_t added = 0; added < most_added; ++added) {
    size_t best = divisions.size();
    double most = 0;
    for (size_t i = 0; i < divisions.size(); ++i) {
      const double gain = choices[i] < most_choices ? divisions[i]->next_gain() : 0;
      if (gain <= most) continue;
      most = gain;
      best = i;
    }
    if (best == divisions.size() || most < least_gain) return;
    divisions[best]->add();
    ++choices[best];
  }
}

}  // namespace tcc::sched
