// Contractions on the matrix units of sm_80 and later (mma.sync, cp.async): the loops are
// backends/device/cuda/gemm_sm80.cu; regions add what contraction_hooks.h says.
#include <algorithm>
#include <cmath>

#include "scheduler/templates/common.h"
#include "scheduler/templates/cost.h"
#include "scheduler/templates/gemm.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using Load = MatrixOperand::Load;

constexpr int64_t kSegment = 8;  // columns that the epilogue gets at once

// Asynchronous copies are of 4 bytes or more.
void restrict_loads(MatrixOperand& operand) {
  if (operand.load != Load::computed)
    operand.load = operand.alignment >= 4 ? Load::tiles : Load::rows;
}

std::optional<Gemm> plan_for(const Region& region, const Target& target) {
  std::optional<Gemm> gemm = plan_gemm(region, target, "mma");
  if (!gemm) return gemm;
  restrict_loads(gemm->a);
  restrict_loads(gemm->b);
  return gemm;
}

// What the launch needs, all that the device source derives from its defines included.
struct Shape {
  Shape(const Gemm& gemm, const Config& c)
      : block_m(c["block_m"]),
        block_n(c["block_n"]),
        line_bytes(c["line_bytes"]),
        warps_m(c["warps_m"]),
        warps_n(c["warps_n"]),
        stages(c["stages"]),
        resident(c["resident"]),
        swapped(c["swapped"] != 0),
        side(gemm.sides(swapped)),
        computed(side.a.load != Load::tiles || side.b.load != Load::tiles),
        block_k(line_bytes / size_bytes(gemm.dtype)),
        tiles_m(ceil_div(side.m, block_m)),
        tiles_n(ceil_div(side.n, block_n)),
        tiles(gemm.plan.batch.size() * tiles_m * tiles_n) {}

  int64_t warp_m() const { return block_m / warps_m; }
  int64_t warp_n() const { return block_n / warps_n; }
  int64_t threads() const { return 32 * warps_m * warps_n; }
  int64_t shared_bytes() const {
    const int64_t line = swapped ? warp_m() + 4 : warp_n() + 8;
    return std::max(stages * line_bytes * (block_m + block_n), warps_m * warps_n * 64 * line);
  }
  // Of a thread: accumulators, fragments of two k steps, the tile on its way, addresses.
  int64_t registers() const {
    const int64_t staged = computed ? (block_m + block_n) * line_bytes / threads() / 2 : 0;
    return warp_m() * warp_n() / 32 + (warp_m() + warp_n()) / 2 + staged / 4 + 48;
  }

  int64_t block_m, block_n, line_bytes, warps_m, warps_n, stages, resident;
  bool swapped;
  Gemm::Sides side;
  bool computed;
  int64_t block_k, tiles_m, tiles_n, tiles;
};

bool legal_warps(const Shape& s) {
  return s.block_m % (16 * s.warps_m) == 0 && s.block_n % (16 * s.warps_n) == 0 &&
         s.warp_m() <= 64 && s.warp_n() <= 64 && s.threads() >= 64 && s.threads() <= 256 &&
         (!s.computed || s.warp_m() * s.warp_n() <= 64 * 32);
}

// Seconds of one launch: rounds of workgroups on all units, those of a unit sharing it.
double predict(const Gemm& gemm, const Config& config, const Target& target, double bytes,
               double slots) {
  constexpr double kProducts = 1024;    // multiply-adds of 16-bit elements a cycle, of one unit
  constexpr double kCacheBytes = 32;    // a cycle, that one unit draws from the last-level cache
  constexpr double kSharedBytes = 128;  // a cycle, of shared memory
  constexpr double kFill = 1200;        // cycles until the first tile is there
  constexpr double kLaunch = 2e-6;
  const Shape s(gemm, config);
  const double units = target.compute_units;
  const double clock = target.flops_f32 / (2 * 128 * units);
  const auto m = static_cast<double>(s.block_m), n = static_cast<double>(s.block_n);
  const auto line = static_cast<double>(s.line_bytes);
  const double product = m * n * line / 2 / kProducts;
  // Fragments are read once by each warp that shares a row or a column of warps.
  const double shared = (m * static_cast<double>(s.warps_n) + n * static_cast<double>(s.warps_m)) *
                        line / kSharedBytes;
  const double cached = (m + n) * line / kCacheBytes;
  const double loading = s.computed ? (m + n) * line / 2 / 32 : (m + n) * line / 16 / 32;
  const double issue =
      product * 97 / 64 * (64.0 * 64) / static_cast<double>(s.warp_m() * s.warp_n());
  const double k_tile = std::max({product, shared, cached, issue / 2}) + loading;
  const auto k_tiles = static_cast<double>(ceil_div(gemm.plan.k.size(), s.block_k));
  const double epilogue = 500 + m * n * 8 / kSharedBytes + m * n * slots / (32 * 4);
  const auto resident = static_cast<double>(s.resident);
  const double rounds = std::ceil(static_cast<double>(s.tiles) / (units * resident));
  const double busy = std::min(resident, std::ceil(static_cast<double>(s.tiles) / units));
  const double cycles =
      kFill + rounds * (busy * k_tiles * k_tile + epilogue * (busy > 1 ? busy / 2 : 1.0) +
                        (busy > 1 ? 0 : kFill));
  return kLaunch + std::max(cycles / clock, bytes / target.bandwidth);
}

class GemmSm80Template : public Template {
 public:
  std::string_view name() const override { return "gemm_sm80"; }
  int version() const override { return 1; }

  bool accepts(const Region& region, const Target& target) const override {
    return plan_for(region, target).has_value();
  }

  ConfigSpace space(const Region& region, const Target& target) const override {
    const Gemm gemm = *plan_for(region, target);
    ConfigSpace space;
    space.parameters = {
        {"block_m", {16, 32, 64, 128, 256}, "rows of a workgroup's tile"},
        {"block_n", {16, 32, 64, 128, 256}, "columns of a workgroup's tile"},
        {"line_bytes", {64, 128}, "bytes of k in a tile"},
        {"warps_m", {1, 2, 4}, "warps along the tile's rows"},
        {"warps_n", {1, 2, 4}, "warps along the tile's columns"},
        {"stages", {2, 3, 4, 5}, "tiles in shared memory"},
        {"resident", {1, 2, 3}, "workgroups that share a unit"},
        {"band", {1, 8}, "rows of tiles that are walked together"},
        {"swapped", {0, 1}, "whether the tile's rows are the result's columns"},
    };
    auto holds = [gemm](auto test) {
      return [gemm, test](const Config& c) { return test(Shape(gemm, c)); };
    };
    space.constraints = {
        {"warps have 16 x 16 to 64 x 64 elements, workgroups 64 to 256 threads",
         holds(legal_warps)},
        {"tiles fit into shared memory of all workgroups that share a unit",
         holds([bytes = target.shared_bytes](const Shape& s) {
           return s.resident * (s.shared_bytes() + 1024) <= bytes + 1024;
         })},
        {"accumulators and fragments fit into registers",
         holds([registers = target.registers_per_unit](const Shape& s) {
           return s.registers() <= std::min<int64_t>(255, registers / (s.resident * s.threads()));
         })},
        {"what passes through registers needs three stages",
         holds([](const Shape& s) { return !s.computed || s.stages >= 3; })},
        {"no more rows in a band than there are",
         [gemm](const Config& c) {
           return c["band"] == 1 || c["band"] < 2 * Shape(gemm, c).tiles_m;
         }},
    };
    return space;
  }

  Config default_config(const Region& region, const Target& target) const override {
    struct Candidate {
      int64_t block_m, block_n, line_bytes, warps_m, warps_n, stages, resident;
    };
    static constexpr Candidate kCandidates[] = {
        {128, 256, 64, 2, 4, 4, 1}, {256, 128, 64, 4, 2, 4, 1}, {128, 128, 64, 2, 2, 4, 2},
        {128, 128, 64, 2, 4, 4, 2}, {128, 64, 64, 2, 2, 4, 2},  {64, 128, 64, 2, 2, 4, 2},
        {64, 64, 64, 2, 2, 4, 3},   {64, 64, 128, 2, 2, 4, 2},  {128, 32, 128, 4, 1, 4, 2},
        {64, 32, 128, 2, 2, 4, 2},  {64, 32, 128, 2, 1, 5, 3},  {32, 32, 128, 2, 1, 5, 3},
        {64, 16, 128, 4, 1, 5, 3},  {32, 16, 128, 2, 1, 5, 3},  {128, 16, 128, 4, 1, 5, 2},
    };
    std::vector<Config> candidates;
    for (const Candidate& c : kCandidates)
      for (int64_t swapped : {0, 1})
        candidates.push_back({{"block_m", c.block_m},
                              {"block_n", c.block_n},
                              {"line_bytes", c.line_bytes},
                              {"warps_m", c.warps_m},
                              {"warps_n", c.warps_n},
                              {"stages", c.stages},
                              {"resident", c.resident},
                              {"swapped", swapped}});
    return fastest_candidate(candidates, space(region, target), cost_model(region, target));
  }

  CostModel cost_model(const Region& region, const Target& target) const override {
    const Gemm gemm = *plan_for(region, target);
    return [gemm, target, slots = epilogue_slots(region, gemm), bytes = region_bytes(region)](
               const Config& config) { return predict(gemm, config, target, bytes, slots); };
  }

  Kernel lower(const Region& region, const Config& config, const Target& target) const override {
    const Gemm gemm = *plan_for(region, target);
    const Shape s(gemm, config);
    Kernel kernel = start_kernel(region);
    kernel.source = "gemm_sm80";
    kernel.workgroup = static_cast<int>(s.threads());
    kernel.resident = static_cast<int>(s.resident);
    kernel.grid = s.tiles;
    kernel.shared_bytes = s.shared_bytes();
    GemmWriter writer(kernel, region, target, gemm, s.swapped,
                      {s.block_m, s.block_n, s.block_k, kSegment});
    writer.product();
    for (auto [name, key] : {std::pair{"BLOCK_M", "block_m"},
                             {"BLOCK_N", "block_n"},
                             {"WARPS_M", "warps_m"},
                             {"WARPS_N", "warps_n"},
                             {"STAGES", "stages"},
                             {"BAND", "band"}})
      writer.define(name, config[key]);
    writer.define("BLOCK_K", s.block_k);
    writer.operand(true, true);
    writer.operand(false, true);
    return kernel;
  }
};

}  // namespace

const Template& gemm_sm80_template() {
  static const GemmSm80Template instance;
  return instance;
}

}  // namespace tcc::sched
