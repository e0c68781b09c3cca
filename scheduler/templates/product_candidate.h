// The candidates of all templates for matrix products and convolutions wish for the same layouts.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "scheduler/split_contraction.h"
#include "scheduler/template.h"

namespace tcc::sched {

// A convolution wants its channels innermost (reads run along the summed channels, writes along the
// produced ones) and its weight as a [k, out] matrix, or [out, k] where it is read `along_k`.
std::vector<LayoutWish> convolution_wishes(const Region& region, const ir::Node& node,
                                           bool along_k);

class ProductCandidate : public Candidate {
 public:
  std::vector<LayoutWish> order_wishes() const override;
  // Matrix units copy 16 bytes at a time, asynchronously: operands whose rows start elsewhere are
  // loaded by threads, several times as slow. Layouts with longer rows avoid that. Units read bytes
  // along k alone, so that other byte operands get layouts in which they lie so.
  //
  // None without a row_unit() or where the region is no product for it, where no layout
  // helps (an operand is computed, or starts inside a row), or would add more than half of the
  // bytes. Each buffer occurs once. An image whose pixels begin elsewhere gets such rows of
  // channels where the copy engine brings it then.
  std::vector<LayoutWish> row_wishes() const override;
  // Sums in parts ("split_k") where tiles are few; copies of given operands with longer rows
  // ("pad_inputs") where row_wishes() asks for them, or of a convolution's image ("pad_images"); a
  // spread image in phases ("phases").
  std::vector<Alternative> alternatives(AlternativeStage stage) const override;

 protected:
  using Candidate::Candidate;

 private:
  // The kind of matrix units whose copies row_wishes() serves; "": none.
  virtual std::string_view row_unit() const { return kernel_template().unit(); }
  // The layout of a buffer with longer pixels with which no threads load the image.
  std::optional<LayoutWish> padded_pixels(const Region& region) const;
  // Whether threads would load the image of a convolution, element by element.
  virtual bool gathers(const Region& region) const { return false; }
  // About the largest number of workgroups that its configs give such a product, of which one keeps
  // a compute unit busy.
  virtual int64_t most_workgroups(const ContractionExtents& product) const;
};

}  // namespace tcc::sched
