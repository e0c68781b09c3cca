#include "scheduler/size_division.h"

#include <algorithm>

#include "support/error.h"

namespace tcc::sched {

bool GridBox::contains(std::span<const size_t> cell) const {
  for (size_t d = 0; d < cell.size(); ++d)
    if (cell[d] < first[d] || cell[d] > last[d]) return false;
  return true;
}

SizeDivision::SizeDivision(std::vector<size_t> shape, std::vector<std::vector<double>> losses)
    : shape_(std::move(shape)), losses_(std::move(losses)) {
  size_t cells = 1;
  Part all;
  for (const size_t side : shape_) {
    cells *= side;
    all.box.first.push_back(0);
    all.box.last.push_back(side - 1);
  }
  TCC_CHECK(cells > 0 && losses_.size() == cells, losses_.size(), " cells, not ", cells);
  choose(all);
  parts_.push_back(std::move(all));
  find_next();
}

// The choice that loses least in the box, the first of equal ones.
void SizeDivision::choose(Part& part) const {
  std::vector<double> sums(losses_.front().size(), 0);
  std::vector<size_t> cell = part.box.first;
  for (;;) {
    size_t number = 0;
    for (size_t d = 0; d < cell.size(); ++d) number = number * shape_[d] + cell[d];
    for (size_t c = 0; c < sums.size(); ++c) sums[c] += losses_[number][c];
    size_t d = cell.size();
    for (; d > 0 && cell[d - 1] == part.box.last[d - 1]; --d) cell[d - 1] = part.box.first[d - 1];
    if (d == 0) break;
    ++cell[d - 1];
  }
  const auto least = std::ranges::min_element(sums);
  part.box.choice = static_cast<size_t>(least - sums.begin());
  part.loss = *least;
}

void SizeDivision::find_cut(size_t number) {
  const Part& part = parts_[number];
  for (size_t d = 0; d < shape_.size(); ++d)
    for (size_t at = part.box.first[d]; at < part.box.last[d]; ++at) {
      Cut cut{number, 0, part, part};
      cut.low.box.last[d] = at;
      cut.high.box.first[d] = at + 1;
      choose(cut.low);
      choose(cut.high);
      cut.gain = part.loss - cut.low.loss - cut.high.loss;
      if (!next_ || cut.gain > next_->gain) next_ = std::move(cut);
    }
}

void SizeDivision::find_next() {
  next_.reset();
  for (size_t i = 0; i < parts_.size(); ++i) find_cut(i);
}

std::vector<GridBox> SizeDivision::boxes() const {
  std::vector<GridBox> boxes;
  for (const Part& part : parts_) boxes.push_back(part.box);
  std::ranges::sort(boxes, {}, &GridBox::first);
  return boxes;
}

double SizeDivision::next_gain() const {
  return next_ ? next_->gain / static_cast<double>(losses_.size()) : 0;
}

void SizeDivision::cut() {
  TCC_CHECK(next_, "no box has two cells");
  parts_[next_->part] = std::move(next_->low);
  parts_.push_back(std::move(next_->high));
  find_next();
}

void divide_sizes(std::span<SizeDivision* const> divisions, std::span<const double> weights,
                  size_t most_boxes, size_t most_cuts, double least_gain) {
  std::vector<size_t> boxes(divisions.size(), 1);
  for (size_t cuts = 0; cuts < most_cuts; ++cuts) {
    size_t best = divisions.size();
    double most = 0;
    for (size_t i = 0; i < divisions.size(); ++i) {
      const double gain = boxes[i] < most_boxes ? divisions[i]->next_gain() * weights[i] : 0;
      if (gain <= most) continue;
      most = gain;
      best = i;
    }
    if (best == divisions.size() || most < least_gain) return;
    divisions[best]->cut();
    ++boxes[best];
  }
}

}  // namespace tcc::sched
