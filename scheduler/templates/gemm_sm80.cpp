// Contractions on the matrix units of sm_80 and later (mma.sync, cp.async): the loops are
// backends/device/cuda/gemm_sm80.cu; regions add what contraction_hooks.h says.
#include <algorithm>
#include <cmath>
#include <ranges>

#include "backends/device/common/gemm_sm80_shape.h"
#include "scheduler/templates/conv_gemm.h"
#include "scheduler/templates/gemm_template.h"
#include "scheduler/templates/kernel_parameters.h"
#include "support/checked.h"

namespace tcc::sched::template_gemm_sm80 {
namespace {

using Load = MatrixOperand::Load;

using kernels::GemmSm80;
namespace sm80 = kernels::sm80;

constexpr int64_t kParts[] = {1, 2, 3, 4, 5, 6, 8, 10, 13, 16}, kMostParts = 16;

GemmSm80 parameters_of_config(const kernels::Product& product, const Config& c) {
  GemmSm80 g;
  g.product = product;
  g.block_m = c["block_m"];
  g.block_n = c["block_n"];
  g.line_bytes = c["line_bytes"];
  g.warps_m = c["warps_m"];
  g.warps_n = c["warps_n"];
  g.stages = c["stages"];
  g.split_k = c["split_k"];
  g.band = c["band"];
  return g;
}

// A config on a product. What a launch needs is in `kernel`, which the device source gets; the rest
// is for the cost model.
struct Shape : GemmShape {
  Shape(const GemmCase<ConvGemm>& of, const Config& c)
      : GemmShape(of.facts, c),
        gemm(of.plan),
        kernel(parameters_of_config(product, c)),
        line_bytes(kernel.line_bytes),
        warps_m(kernel.warps_m),
        warps_n(kernel.warps_n),
        split_k(kernel.split_k),
        resident(c["resident"]),
        element(sm80::element_bytes(kernel)),
        block_k(sm80::block_k(kernel)),
        tiles_m(sm80::tiles_m(kernel)),
        tiles_n(sm80::tiles_n(kernel)),
        tiles(sm80::tiles(kernel)) {
    if (gemm.image) kernel.taps = gemm.image->taps();
  }

  ContractionTile tile() const { return {block_m, block_n, block_k, product.segment}; }
  int64_t warp_m() const { return sm80::warp_m(kernel); }
  int64_t warp_n() const { return sm80::warp_n(kernel); }
  int64_t threads() const { return sm80::threads(kernel); }
  // Workgroups that share a unit: as many as were asked for, or as find room.
  int64_t together(const Target& target) const {
    const int64_t by_shared = (target.shared_bytes + 1024) / (sm80::shared_bytes(kernel) + 1024),
                  by_registers = target.registers_per_unit / (threads() * sm80::registers(kernel));
    return std::max(resident, std::min(by_shared, by_registers));
  }
  // Fills in what the target decides: how many workgroups run at once.
  GemmSm80 on(const Target& target) const {
    GemmSm80 g = kernel;
    if (split_k > 1) g.at_once = target.compute_units * resident;
    return g;
  }

  const ConvGemm& gemm;
  GemmSm80 kernel;
  int64_t line_bytes, warps_m, warps_n, split_k, resident;
  int64_t element, block_k, tiles_m, tiles_n, tiles;
};

// Cycles for each byte of a line that threads take to load rows of bytes.
double turning_rows(const MatrixOperand& operand, int64_t rows) {
  const double cycles = kernels::is_copied(operand.load) ? 1.0 / 16 / 32
                        : operand.load == Load::rows     ? 1.0 / 2 / 32
                        : operand.vector < 4             ? 0.5
                                                         : 0.18;
  return static_cast<double>(rows) * cycles;
}

class GemmSm80Template : public GemmTemplate<Shape, GemmCase<ConvGemm>> {
 public:
  std::string_view name() const override { return "gemm_sm80"; }
  int version() const override { return 1; }
  int specificity() const override { return 1; }
  // Its least tiles are smaller than those of other units.
  bool is_compared(const Region& region) const override {
    return region.anchor && has_small_groups(*region.anchor);
  }

 protected:
  std::string_view unit() const override { return "mma"; }

  OrRefusal<ConvGemm> plan(const Region& region, const Target& target) const override {
    return plan_vector_gemm(region, target, unit());
  }

  // Small tiles, whose k workgroups share.
  int64_t most_workgroups(const ContractionExtents& product) const override {
    return kMostParts * tiles_of(product, 32, 32);
  }

  // Asynchronous copies are of 4 bytes or more. Bytes across k are turned by the threads that load
  // them.
  void restrict_loads(MatrixOperand& operand) const override {
    if (operand.load == Load::im2col) return;
    if (operand.load != Load::computed)
      operand.load = operand.alignment >= 4 ? Load::tiles : Load::rows;
    if (!is_byte(operand.dtype)) return;
    if (!operand.major_k) operand.load = Load::computed;
    operand.major_k = true;
  }

  std::vector<Parameter> own_parameters() const override {
    return {
        {"block_m", {16, 32, 64, 128, 256}, "rows of a workgroup's tile"},
        {"block_n", {16, 32, 64, 128, 256}, "columns of a workgroup's tile"},
        {"line_bytes", {64, 128}, "bytes of k in a tile"},
        {"warps_m", {1, 2, 4}, "warps along the tile's rows"},
        {"warps_n", {1, 2, 4}, "warps along the tile's columns"},
        {"stages", {2, 3, 4, 5}, "tiles in shared memory"},
        {"resident", {1, 2, 3}, "workgroups that share a unit"},
        {"split_k",
         {std::begin(kParts), std::end(kParts)},
         "workgroups that share the k of a tile"},
        {"band", {1, 8}, "rows of tiles that are walked together"},
    };
  }

  std::vector<Constraint> constraints(const Target& target) const override {
    return {
        {"warps have 16 x 16 to 64 x 64 elements, workgroups 64 to 256 threads",
         [](const Shape& s) { return sm80::legal_warps(s.kernel); }},
        {"tiles fit into shared memory of all workgroups that share a unit",
         [bytes = target.shared_bytes](const Shape& s) {
           return s.resident * (sm80::shared_bytes(s.kernel) + 1024) <= bytes + 1024;
         }},
        {"accumulators and fragments fit into registers",
         [registers = target.registers_per_unit](const Shape& s) {
           return sm80::registers(s.kernel) <=
                  std::min<int64_t>(255, registers / (s.resident * s.threads()));
         }},
        {"workgroups that share k have tiles of it, and run at once",
         [target](const Shape& s) { return sm80::legal_split(s.on(target)); }},
    };
  }

  std::vector<Config> candidates(const ConvGemm&) const override {
    struct Candidate {
      int64_t block_m, block_n, line_bytes, warps_m, warps_n, stages, resident;
    };
    static constexpr Candidate kCandidates[] = {
        {128, 256, 128, 2, 4, 3, 1}, {256, 128, 128, 4, 2, 3, 1}, {128, 256, 64, 2, 4, 4, 1},
        {256, 128, 64, 4, 2, 4, 1},  {128, 128, 128, 2, 2, 3, 2}, {128, 128, 64, 2, 2, 4, 2},
        {128, 128, 64, 2, 4, 4, 2},  {256, 64, 64, 4, 1, 4, 2},   {64, 256, 64, 1, 4, 4, 2},
        {128, 64, 128, 2, 2, 4, 2},  {64, 128, 128, 2, 2, 4, 2},  {128, 64, 64, 2, 2, 4, 2},
        {64, 128, 64, 2, 2, 4, 2},   {64, 64, 64, 2, 2, 4, 3},    {64, 64, 128, 2, 2, 4, 2},
        {128, 32, 128, 4, 1, 4, 2},  {64, 32, 128, 2, 2, 4, 2},   {64, 32, 128, 2, 1, 5, 3},
        {32, 32, 128, 2, 1, 5, 3},   {64, 16, 128, 4, 1, 5, 3},   {32, 16, 128, 2, 1, 5, 3},
        {128, 16, 128, 4, 1, 5, 2},
    };
    std::vector<Config> candidates;
    for (const Candidate& c : kCandidates)
      // The most parts win among equals: where tiles are open, their number decides (sm80::parts).
      for (const int64_t parts : std::views::reverse(kParts))
        candidates.push_back({{"block_m", c.block_m},
                              {"block_n", c.block_n},
                              {"line_bytes", c.line_bytes},
                              {"warps_m", c.warps_m},
                              {"warps_n", c.warps_n},
                              {"stages", c.stages},
                              {"resident", c.resident},
                              {"split_k", parts}});
    return candidates;
  }

  TileGrid grid(const Shape& s) const override {
    return {s.tiles_m, s.tiles_n, s.block_m, s.block_n, s.split_k};
  }

  // Rounds of workgroups on all SMs, several of which share an SM. The root mean square of the
  // error over 550 measurements on an H200 is 6 to 9 % for products of large matrices, and 25 % for
  // convolutions whose k is shared.
  GemmCycles cycles(const Shape& s, const Target& target,
                    const EpilogueCost& stored) const override {
    const double units = target.compute_units;
    // Multiply-adds of 16 bits a cycle of one SM, as Hopper's mma.sync reaches at most.
    constexpr double kMostProducts = 1381;
    constexpr double kCacheBytes = 64;    // a cycle, that one SM reads from the last-level cache
    constexpr double kSharedBytes = 128;  // a cycle, of shared memory
    // How products and accesses of shared memory add up, and how much longer they take by few
    // warps.
    constexpr double kMultiplying = 0.8, kFragments = 0.55, kFewWarps = 0.15, kWarps = 8;
    constexpr double kBarrier = 40;    // cycles of a tile of k
    constexpr double kLatency = 1700;  // until a tile of k is there,
    constexpr double kFill = 3000;     // and until the first one is, with the end of a round
    constexpr double kPixels = 40;     // until the addresses of a step's vectors of an image are
    // An image that threads take apart: bytes of vectors a cycle, and cycles of a thread's
    // single element, each of which waits for the one before.
    constexpr double kGathered = 12, kSingle = 500;
    // Sums of parts: cycles of arriving and waiting, and of storing and adding a thread's share.
    constexpr double kExchange = 2500, kShare = 80;
    const auto m = static_cast<double>(s.block_m), n = static_cast<double>(s.block_n);
    const auto line = static_cast<double>(s.line_bytes);
    const double rate = std::min(target.flops_matrix / 2 / units / target.clock(), kMostProducts);
    const double product = m * n * line / 2 / rate;
    // Copies write a tile once. Each warp that shares a row or a column of warps reads it.
    const double shared =
        (m * static_cast<double>(s.warps_n + 1) + n * static_cast<double>(s.warps_m + 1)) * line /
        kSharedBytes;
    const double image_rows = (s.gemm.plan.a.input == 0) != s.swapped ? m : n;
    const MatrixOperand& image = s.gemm.operand_of(0);
    const bool singles = s.gemm.gathers && image.vector < 4;
    const double loading =
        s.element == 1
            ? (turning_rows(s.side.a, s.block_m) + turning_rows(s.side.b, s.block_n)) * line
        : singles        ? 0
        : s.gemm.gathers ? image_rows * line / kGathered
        : s.computed     ? (m + n) * line / 2 / 32
                         : (m + n) * line / 16 / 32;
    const int64_t parts = sm80::parts(s.on(target), s.tiles);
    const auto k_tiles = static_cast<double>(ceil_div(ceil_div(s.k, s.block_k), parts));
    const auto workgroups = static_cast<double>(s.tiles * parts),
               together = static_cast<double>(s.together(target)),
               threads = static_cast<double>(s.threads());
    const double rounds = std::ceil(workgroups / (units * together));
    const double busy = std::min(together, std::ceil(workgroups / units));
    const double few = 1 + kFewWarps * std::max(0.0, kWarps / (busy * threads / 32) - 1);
    const double working = few * (kMultiplying * product + kFragments * shared + loading);
    const double cached = (m + n) * line / kCacheBytes;
    const double k_tile = std::max(busy * (std::max(working, cached) + kBarrier),
                                   kLatency / static_cast<double>(s.kernel.stages - 1)) +
                          (s.gemm.image ? kPixels * line / 32 : 0) +
                          (singles ? kSingle * image_rows * static_cast<double>(s.block_k) /
                                         threads / static_cast<double>(image.vector)
                                   : 0);
    const double part = m * n / static_cast<double>(parts);  // that a workgroup stores
    const double epilogue = 500 + m * n * 8 / kSharedBytes + part * stored.slots / (32 * 4);
    const double exchange = parts > 1 ? kExchange + kShare * m * n / threads : 0;
    GemmCycles cycles;
    cycles.working = rounds * (kFill + k_tiles * k_tile + busy * epilogue + exchange);
    return cycles;
  }

  void write(Kernel& kernel, GemmWriter& writer, const Shape& s, const Config&,
             const Target& target) const override {
    const SymInt tiles = s.all_tiles(s.block_m, s.block_n);
    writer.product(tiles);
    GemmSm80 parameters = s.on(target);
    if (s.split_k > 1) {
      parameters.sums =
          writer.workspace("sums", s.gemm.plan.accumulator, sm80::sums(parameters), false);
      writer.workspace("arrivals", DType::i32, sm80::arrivals(parameters), true);
    }
    kernel.workgroup = static_cast<int>(s.threads());
    kernel.resident = static_cast<int>(s.resident);
    // As many as sm80::workgroups(), or more where sizes decide.
    kernel.grid =
        s.split_k == 1 ? tiles : ir::max(tiles, ir::min(tiles * s.split_k, parameters.at_once));
    kernel.shared_bytes = sm80::shared_bytes(parameters);
    kernel.parameters = parameters_of(parameters, "GemmSm80", "common/gemm_sm80_shape.h");
    for (const bool first : {true, false}) {
      const MatrixOperand& operand = first ? s.side.a : s.side.b;
      if (operand.load != Load::im2col) {
        writer.operand(first, true);
        continue;
      }
      need_alignment(kernel, operand);
      const SymInt& elements = kernel.arguments[static_cast<size_t>(operand.view.buffer)].elements;
      add_image_hooks(kernel, *s.gemm.image, operand.alignment, s.gemm.plan, first,
                      elements.is_const() ? DType::i32 : DType::i64);
    }
  }
};

const RegisterTemplate<GemmSm80Template> registered;

}  // namespace

}  // namespace tcc::sched::template_gemm_sm80
