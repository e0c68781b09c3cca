// The candidates of all templates for matrix products and convolutions wish for the same layouts.
#pragma once

#include "scheduler/candidate.h"

namespace tcc::sched {

class ProductCandidate : public Candidate {
 public:
  // A convolution wants its channels innermost (reads run along the summed channels, writes along
  // the produced ones) and its weight as a [k, out] matrix.
  std::vector<LayoutWish> order_wishes() const override;
  // Matrix units copy 16 bytes at a time, asynchronously: operands whose rows start elsewhere are
  // loaded by threads, several times as slow. Layouts with longer rows avoid that. Units read bytes
  // along k alone, so that other byte operands get layouts in which they lie so.
  //
  // None where the target has no matrix units or the region no product for them, where no layout
  // helps (an operand is computed, or starts inside a row), or would add more than half of the
  // bytes. Each buffer occurs once.
  std::vector<LayoutWish> row_wishes() const override;

 protected:
  using Candidate::Candidate;
};

}  // namespace tcc::sched
