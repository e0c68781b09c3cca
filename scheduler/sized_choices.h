// Kernels of a region with open dims: which config, of which template, for which sizes.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "executable/size_table.h"
#include "ir/bind_nodes.h"
#include "scheduler/size_division.h"
#include "scheduler/tuning.h"

namespace tcc::sched {

// One dim as a table divides it: sizes from `least` to `most`, `usual` of which estimates take; of
// these the multiples of a number.
struct SizeCell {
  int64_t least = 0, most = 0, usual = 0, multiple = 1;
  friend bool operator==(const SizeCell&, const SizeCell&) = default;
};
// A number that sizes decide, a symbol or a product of symbols, and its cells.
struct SizeAxis {
  SymInt number;
  std::vector<SizeCell> cells;
};
// Classes of the sizes of one axis: multiples of the first number, of others those of the second,
// and so on; the last number is 1. Of several, each is a divisor of the one before it.
struct SizeClasses {
  size_t axis = 0;
  std::vector<int64_t> multiples = {1};
};
// By the names of symbols.
using SizeBox = std::map<std::string, SizeCell, std::less<>>;

// Divides the values of a number, in ascending order: what is up to each power of two and halfway
// to it, at most `count` cells. The last ones of a range without an end are one.
std::vector<SizeCell> size_cells(ir::Interval range, int64_t usual, size_t count);

// Regions of a graph whose open dims have other ranges and usual sizes; those of one size are
// numbers.
class RegionsAtSizes {
 public:
  // The nodes are those of the regions, in the graph's order. Throws Error(bad_input) where values
  // have no such sizes.
  RegionsAtSizes(std::span<const ir::Node* const> nodes, const ir::GrowingDims& growing,
                 const SizeBox& box);
  Region region(const Region& of_graph) const;

 private:
  SizeBox box_;
  ir::Graph::Part part_;
};

// The cells with those of 8 sizes or more in up to eight parts each, with ends at multiples of 4: a
// config's last wave of workgroups is full at one size and nearly empty at the next. `part_of` gets
// the cell that each one is a part of.
std::vector<SizeCell> fine_cells(const std::vector<SizeCell>& cells, std::vector<size_t>& part_of);

// The cell's multiples of a number; nothing where it has none but 0.
std::optional<SizeCell> multiples_in(const SizeCell& cell, int64_t multiple);

// A candidate that computes the region where one of the conditions holds.
struct SizedChoice {
  std::vector<exec::SizeCondition> conditions = {};
  std::shared_ptr<const RegionsAtSizes> owner = {};  // of the candidate's graph; null: the region's
  CandidatePtr candidate;
  ConfigChoice config;
};

// A kernel for some sizes, and sizes to measure it at.
struct SizedKernel {
  CandidatePtr candidate;
  std::shared_ptr<const RegionsAtSizes> owner;       // of its graph
  exec::Sizes numbers;                               // of the symbols
  std::shared_ptr<const RegionsAtSizes> at_numbers;  // the region with numbers alone
  Region region;                                     // that one
  std::string sizes;                                 // for people: "B=2 S=23"
};

// A region of a program, and what its kernels lose at which sizes.
struct SizedRegion {
  CandidatePtr candidate;
  double seconds = 0;  // of all its launches in a run, at usual sizes
  ConfigChoice config;
  // A config of a template, for multiples of a number; the tier is the closest one of all cells
  // that have it.
  struct Option {
    const Template* by;
    ConfigChoice config;
    int64_t multiple = 1;
  };
  std::vector<SizeAxis> axes = {};  // none: it has no open dims
  SizeClasses classes = {};
  std::vector<Option> options = {};
  // A class's cell of each axis, in row-major order.
  struct Cell {
    double weight = 0;           // of all sizes, how many it has; 0: none
    double seconds = 0;          // of all launches in a run, by the option that is best there
    ir::Numbers sizes = {};      // usual ones there, of all symbols of the program
    std::vector<double> losses;  // of each option: see SizeDivision
  };
  std::vector<Cell> cells = {};
  // Divides the cells, once divide_sizes() has seen all regions; its choices are the options.
  std::optional<SizeDivision> division = {};

  const Cell& cell_of(const ir::Numbers& sizes) const;
};

// Divides the regions' sizes: a program gets few kernels more than it has regions, where it gains
// most by the cost models. What a region loses at some sizes counts as much as it takes of the
// program's time there.
void divide_sizes(std::span<SizedRegion> regions);

// Thread-safe.
class SizedChoices {
 public:
  // The regions that it will be asked about, and of the graph's others those whose sizes differ
  // from theirs: no region has kernels of its own for sizes at which another one can have no
  // values. All of the arguments outlive it, but for the list.
  SizedChoices(const ir::Graph& graph, std::span<const Region* const> regions, const Target& target,
               const ConfigSource& configs);

  // Returns the kernels that the region may have, each of which is the choice of `configs`
  // somewhere. `times`: it runs so often.
  SizedRegion look_at(const CandidatePtr& candidate, int times) const;

  // One kernel for each choice of the region's division, at most exec::kMostChoices. The last one
  // has no conditions: it is for all other sizes, usual ones among them.
  std::vector<SizedChoice> choices(const SizedRegion& region) const;

  // Returns an expression of a choice's kernels, which knows the sizes that the choice is for, as
  // one of all sizes: what the program decides with it holds for all.
  SymInt for_all_sizes(const SymInt& expression) const;

  // Returns the kernels that a tuner measures for a region with open dims: some of those whose
  // configs look_at() asks for, at few sizes that are spread over the ranges; none for a region
  // without.
  std::vector<SizedKernel> measured(const CandidatePtr& candidate) const;

 private:
  // The region in each cell, with usual sizes of the cell. No candidate: values would be larger
  // than any memory there.
  struct Cell {
    double weight = 0;     // of all sizes, how many it has; 0: none
    int64_t multiple = 1;  // of its class
    SizeBox box;
    std::shared_ptr<const RegionsAtSizes> owner;
    CandidatePtr candidate;
  };
  // Sets the region's cells; `chosen` are the options that `configs` has there.
  void estimate(SizedRegion& region, const std::vector<Cell>& cells,
                const std::vector<size_t>& chosen, int times) const;

  std::shared_ptr<const RegionsAtSizes> at(const SizeBox& box) const;
  CandidatePtr match(const Region& region, const Template* by) const;
  // Several axes together have `most_cells` at most.
  std::vector<SizeAxis> axes(const Region& region, size_t most_cells) const;
  SizeClasses classes(const Candidate& candidate, const std::vector<SizeAxis>& axes) const;
  std::vector<int64_t> multiples(const Candidate& candidate, const std::string& symbol) const;
  SizeBox widened(SizeBox box) const;
  int64_t usual_of(const SymInt& number) const;
  SizeBox box_of(const std::vector<SizeAxis>& axes, const std::vector<SizeCell>& cells) const;
  // By class, and by cell of each axis. `around`, where it is not empty, has for each cell of one
  // axis the sizes for which what is legal there must be so.
  std::vector<Cell> cells(const Candidate& of, const std::vector<SizeAxis>& axes,
                          const SizeClasses& classes = {},
                          std::span<const SizeCell> around = {}) const;
  SizedChoice in_hull(const SizedRegion& region, const std::vector<SizeCell>& hull,
                      const SizedRegion::Option& option) const;

  std::vector<const ir::Node*> nodes_;  // of the regions
  const ir::GrowingDims growing_;
  const Target& target_;
  const ConfigSource& configs_;
  SizeBox symbols_;
  mutable std::mutex mutex_;
  mutable std::map<std::vector<std::pair<std::string, std::array<int64_t, 4>>>,
                   std::shared_ptr<const RegionsAtSizes>>
      made_;
};

}  // namespace tcc::sched
