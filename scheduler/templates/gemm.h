// The matrix-unit templates share this: the analysis of a contraction as a matrix product of
// operands that matrix units read, and the hooks that load an operand for a device source.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "backends/device/common/matrix.h"
#include "scheduler/kernel_sequence.h"
#include "scheduler/template.h"
#include "scheduler/templates/contraction_hooks.h"
#include "scheduler/templates/matrix_operand.h"

namespace tcc::sched {

struct Gemm {
  ContractionPlan plan;
  MatrixOperand a, b;         // the plan's
  DType dtype = DType::bf16;  // of both, but i8 and u8 may be mixed, and the kinds of f8
  // The matrix unit sums f8 in 14 bits; its sums are of one k tile each, and are added up in f32.
  bool promoted = false;
  bool exact = false;  // f32 that FMA units multiply as it is

  // The sides of a kernel. With `swapped` its rows are the plan's columns, for results of few rows.
  struct Sides {
    const MatrixOperand &a, &b;
    SymInt rows, columns;
    int64_t m, n;  // the usual ones
  };
  Sides sides(bool swapped) const;
  // The operand that is the anchor's input number `input`, 0 or 1.
  const MatrixOperand& operand_of(int input) const { return plan.a.input == input ? a : b; }
  // Returns the product as the device sources' struct, with the usual sizes.
  kernels::Product product(bool swapped) const;
};

// Returns whether the region multiplies f32 that no matrix unit may truncate.
bool is_of_exact_f32(const Region& region);

// Refuses what is no product of matrices that the target's `unit` multiplies, where f32 results
// would lose bits by its truncated sums, which those of f8 may, and what is too small to gain. Sums
// of bytes are exact: 32-bit integers that wrap. A unit that does not multiply f8 reads it as a
// wider type.
OrRefusal<Gemm> plan_gemm(const Region& region, const Target& target, std::string_view unit);
// The same of f32 that FMA units multiply.
OrRefusal<Gemm> plan_exact_gemm(const Region& region);

// The properties of a product that no config changes. Searches make thousands of shapes of one.
struct GemmFacts {
  // The product with its rows as the kernel's rows, or as its columns.
  struct Way {
    Gemm::Sides side;
    kernels::Product product;
  };
  explicit GemmFacts(const Gemm& gemm);  // which must outlive this
  const Way& way(bool swapped) const { return swapped ? swapped_ : plain_; }
  const SymInt all_batches;
  const int64_t batches, k;  // the usual ones
  const bool computed;       // threads load an operand, through registers

 private:
  const Way plain_, swapped_;
};

// A product that configs are searched for. Templates derive from it what else their shapes have in
// common.
template <class Planned>
struct GemmCase {
  using Plan = Planned;
  explicit GemmCase(Plan of) : plan(std::move(of)), facts(plan) {}
  GemmCase(const GemmCase&) = delete;
  GemmCase& operator=(const GemmCase&) = delete;

  const Plan plan;
  const GemmFacts facts;
};

// A config on a product: what the kernels' shapes have in common. The facts must outlive it.
struct GemmShape {
  GemmShape(const GemmFacts& facts, const Config& config);
  int64_t block_m, block_n;  // of a workgroup's tile, on the kernel's sides
  int64_t band;              // tiles along m that neighbouring workgroups take in turn
  bool swapped;
  const Gemm::Sides& side;
  bool computed;       // threads load an operand, through registers
  int64_t batches, k;  // the usual ones
  const kernels::Product& product;
  const SymInt& all_batches;

  // Tiles of so many of the kernel's rows and columns that cover all batches.
  SymInt all_tiles(int64_t rows, int64_t columns) const {
    return all_batches * ir::ceildiv(side.rows, rows) * ir::ceildiv(side.columns, columns);
  }
};

// The costs of a launch, for the cost model.
struct GemmCycles {
  double working = 0;     // of rounds of tiles, while memory is read
  double outside = 0;     // before and after them
  double read_again = 0;  // bytes besides those that memory moves once, as many as take its time
  double drawn = 1;       // the share of memory's bandwidth that the workgroups can draw
  double seconds = 0;     // that no clock counts, besides a launch's
};
double launch_seconds(const GemmCycles& cycles, double bytes, const Target& target);

// The costs of the epilogue for each element of the result.
struct EpilogueCost {
  double slots;  // storing included
  double drain;  // cycles of storing, at one SM's share of memory's bandwidth
};
EpilogueCost epilogue_cost(const Region& region, const Gemm& gemm, const Target& target);

// How tiles, or clusters of them, cover the result of a config.
struct TileGrid {
  int64_t tiles_m, tiles_n;
  int64_t rows, columns;  // of each
  int64_t workgroups;     // that work on each
};
// Rows and columns of the operands that neighbouring units read at about the same time, in bands of
// `band` tiles. Groups of units share their way to the cache (Target::unit_groups), and all of them
// the cache: the less, the better.
int64_t read_by_neighbours(const TileGrid& grid, int64_t band, const Target& target);

// The grid of a config, which its band does not change; nothing where the config is not legal.
using LegalGrid = std::function<std::optional<TileGrid>(const Config&)>;
// The candidate that the model thinks fastest, on either side and with the band of tiles that reads
// least (read_by_neighbours); the space's first config where none is legal. Candidates lack
// "swapped" and "band".
Config fastest_candidate(std::span<const Config> candidates, const ConfigSpace& space,
                         const CostModel& cost, const LegalGrid& legal, const Target& target);

// Fills in a kernel on a device source whose sides are A and B.
class GemmWriter {
 public:
  // The tile is the kernel's: as rows and columns of its own sides.
  GemmWriter(Kernel& kernel, const Region& region, const Target& target, const Gemm& gemm,
             bool swapped, const ContractionTile& tile);

  // The epilogue, flops, and sizes that come at run time: SIZE_M, SIZE_N, SIZE_K, and TILES where
  // there are open ones. The device source brings these matrices that the epilogue reads.
  void product(const SymInt& tiles, std::span<const OperandView> residuals = {});
  // The same, but the device source brings what the epilogue loads, as words (held_epilogue).
  // Returns those of a segment: what rows share, if `shares_columns`, and the others.
  struct HeldWords {
    int64_t columns = 0, held = 0;
  };
  HeldWords held_product(const SymInt& tiles, bool shares_columns);
  // Returns whether rows, columns or batches come at run time.
  bool has_open_tiles() const;
  // The hooks that bring A (`first`) or B. `vectors`: asynchronous copies are made by threads
  // (vector_x), not by the copy engine.
  void operand(bool first, bool vectors);
  // Gives the kernel scratch memory that it reads and writes. Returns the argument's number, which
  // follows those of the region and of what was added before.
  int64_t workspace(std::string name, DType dtype, int64_t elements, bool zeroed);
  // The kernel with its scratch memory.
  KernelSequence sequence() &&;

 private:
  void sizes(const SymInt& tiles);
  void add_lines(const MatrixOperand& operand, const std::string& side);

  Kernel& kernel_;
  double rate_;
  const Region& region_;
  const Gemm& gemm_;
  bool swapped_;
  ContractionTile tile_;  // the plan's
  Gemm::Sides sides_;
  ContractionHooks hooks_;
  std::vector<Workspace> workspaces_;
};

}  // namespace tcc::sched
