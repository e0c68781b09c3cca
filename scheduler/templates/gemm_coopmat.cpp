// Contractions on the cooperative matrices of Vulkan: the loops are
// backends/device/glsl/gemm_coopmat.comp; regions add what contraction_hooks.h says.
#include <algorithm>
#include <cmath>
#include <set>

#include "backends/device/common/gemm_coopmat_shape.h"
#include "scheduler/templates/conv_gemm.h"
#include "scheduler/templates/coopmat_plan.h"
#include "scheduler/templates/gemm_template.h"
#include "scheduler/templates/kernel_parameters.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched::template_gemm_coopmat {
namespace {

using kernels::GemmCoopmat;
using Load = MatrixOperand::Load;
namespace coopmat = kernels::coopmat;

GemmCoopmat parameters_of_config(const CoopmatGemm& gemm, const kernels::Product& product,
                                 const Config& c) {
  GemmCoopmat g;
  g.product = product;
  if (gemm.image) g.taps = gemm.image->taps();
  g.block_m = c["block_m"];
  g.block_n = c["block_n"];
  g.block_k = c["block_k"];
  g.subgroups_m = c["subgroups_m"];
  g.subgroups_n = c["subgroups_n"];
  g.subgroup = gemm.subgroup;
  g.unit_m = c["unit_m"];
  g.unit_n = c["unit_n"];
  g.unit_k = c["unit_k"];
  g.stages = c["stages"];
  g.paired = c["paired"];
  g.direct = c["direct"];
  g.slices = c["slices"];
  g.band = c["band"];
  return g;
}

// A config on a product. What a launch needs is in `kernel`, which the device source gets.
struct Shape : GemmShape {
  Shape(const GemmCase<CoopmatGemm>& of, const Config& c)
      : GemmShape(of.facts, c),
        gemm(of.plan),
        kernel(parameters_of_config(gemm, product, c)),
        unit(gemm.unit(swapped, kernel.unit_m, kernel.unit_n, kernel.unit_k)),
        element(coopmat::element_bytes(kernel)),
        tiles_m(coopmat::tiles_m(kernel)),
        tiles_n(coopmat::tiles_n(kernel)),
        tiles(coopmat::tiles(kernel)) {
    if (unit) kernel.unit_sum = sum_of(unit->d);
  }

  ContractionTile tile() const {
    return {block_m, block_n, coopmat::turn_k(kernel), product.segment};
  }

  const CoopmatGemm& gemm;
  GemmCoopmat kernel;
  const exec::MatrixUnit* unit;  // null: the target has none of these sizes
  int64_t element, tiles_m, tiles_n, tiles;
};

// The sizes of units along one side, each once.
std::vector<int64_t> sizes_of(const CoopmatGemm& gemm, int exec::MatrixUnit::*side) {
  std::set<int64_t> sizes;
  for (const exec::MatrixUnit& unit : gemm.units) sizes.insert(unit.*side);
  return {sizes.begin(), sizes.end()};
}

int64_t registers_of(const GemmCoopmat& g, bool turns) {
  return coopmat::registers(g) + (turns ? 0 : coopmat::turned_registers(g));
}

constexpr double kSharedBytes = 128;  // a cycle, of shared memory
constexpr double kThreads = 128;      // that keep all matrix units of a compute unit busy

// The parts of a config's cycles that both models have. Workgroups run in rounds on all compute
// units, several of which share one.
struct Work {
  Work(const Shape& s, const Target& target, const EpilogueCost& stored)
      : m(static_cast<double>(s.block_m)),
        n(static_cast<double>(s.block_n)),
        line(static_cast<double>(s.kernel.block_k * s.element)),
        slices(static_cast<double>(s.kernel.slices)),
        threads(static_cast<double>(coopmat::threads(s.kernel))),
        turns(static_cast<double>(ceil_div(coopmat::k_tiles(s.kernel), s.kernel.slices))) {
    const GemmCoopmat& g = s.kernel;
    const double units = target.compute_units;
    const double rate = target.flops_matrix > 0 ? target.flops_matrix : 4 * target.flops_f32;
    // Multiply-adds of 16-bit elements a cycle, of one unit.
    const double products = rate / 2 / units / target.clock();
    unhindered = slices * m * n * line / 2 / products;
    // Cycles of computing elements one by one: of an image whose elements lie apart, a stem's, each
    // is a load of its own. Vectors of an image cost what those of tiles do.
    const auto computed = [&](const kernels::Operand& x, bool image, double rows) {
      const double elements = slices * rows * line / static_cast<double>(s.element);
      const double per_cycle = image && x.vector == 1 ? 0.5 : 24;
      return x.load == Load::computed ? elements / per_cycle : 0;
    };
    const bool gathers_a = s.gemm.gathers && (s.gemm.plan.a.input == 0) != s.swapped;
    loading = computed(g.product.a, gathers_a, m) +
              computed(g.product.b, s.gemm.gathers && !gathers_a, n);
    exchanged = (slices + 1) * m * n * 4 / kSharedBytes;
    stores = m * n * stored.slots / (32 * 4);
    // NVIDIA's compiler takes what there is for direct operands.
    auto registers = static_cast<double>(registers_of(g, turns_matrices(target)));
    if (g.direct > 0) registers = std::min(255.0, 8 * std::ceil((registers + 12) / 8));
    const double resident = std::max(
        1.0,
        std::floor(std::min({static_cast<double>(target.registers_per_unit) / (registers * threads),
                             target.max_threads_per_unit / threads,
                             static_cast<double>(shared_bytes_of_unit(target)) /
                                 static_cast<double>(coopmat::shared_bytes(g))})));
    const auto tiles = static_cast<double>(s.tiles);
    rounds = std::ceil(tiles / (units * resident));
    busy = std::min(resident, std::ceil(tiles / units));
  }

  double m, n, line;       // a tile's rows and columns, and the bytes of its k
  double slices, threads;  // of a workgroup
  double turns;            // of the main loop
  // Cycles of a turn: of the products of all slices on units that nothing hinders, and of elements
  // that are computed.
  double unhindered, loading;
  // Cycles of the results: their way through shared memory, and the epilogue's slots.
  double exchanged, stores;
  double rounds, busy;  // of workgroups, and how many share a unit
};

// The cycles of tiles in shared memory.
double shared_cycles(const Work& w, const Shape& s, const Target& target) {
  const GemmCoopmat& g = s.kernel;
  constexpr double kCacheBytes = 24;   // a cycle, that one unit reads from the last-level cache
  constexpr double kFill = 1500;       // cycles until the first tile is there
  constexpr double kMultiplied = 1.5;  // cycles of products with barriers over those alone
  // Cycles between two tiles of k that nothing hides, and where loads are of whole lines.
  constexpr double kLatency = 1000, kLineLatency = 680;
  const double multiplied = kMultiplied * w.unhindered;
  const double shared = w.slices *
                        (w.m * static_cast<double>(g.subgroups_n + 1) +
                         w.n * static_cast<double>(g.subgroups_m + 1)) *
                        w.line / kSharedBytes;
  const double epilogue = 500 + w.exchanged + w.stores;
  // Other workgroups of a unit hide a part of the loads: measured on an H200.
  const bool lines = g.paired && loads_whole_lines(target);
  const double exposed = lines || w.busy * w.slices > 1 ? 0.6 : 0.9;
  const double turn = std::max(multiplied, shared) + w.loading +
                      exposed * w.slices * (w.m + w.n) * w.line / kCacheBytes;
  // Measured on an H200: each slice beyond two adds to what a turn waits for all of them.
  constexpr double kMeeting = 110;
  // The cores of a CPU have no units that more threads would keep busy: slices work in turn.
  const double in_turn = target.is_cpu ? w.slices : 1;
  const double alone = in_turn * (lines ? kLineLatency : kLatency) + w.loading +
                       multiplied * std::max(1.0, in_turn * kThreads / w.threads) +
                       kMeeting * std::max(0.0, w.slices - 2);
  return kFill + w.rounds * (w.turns * std::max(w.busy * turn, alone) +
                             epilogue * (w.busy > 1 ? w.busy / 2 : 1.0) + (w.busy > 1 ? 0 : kFill));
}

// The cycles of direct operands, fitted to measurements of 70 pairs of a tile and a product on an
// H200: among those tiles, what the model chooses takes 1.03 times as long as the fastest on
// average.
double direct_cycles(const Work& w, const Shape& s, const Target& target) {
  const GemmCoopmat& g = s.kernel;
  const bool both = g.direct == 2;
  // Cycles of products over those of units that nothing hinders.
  const double hindered = both ? 2.31 : g.slices > 1 ? 1.7 : 1.54;
  // Cycles that a turn takes in any case, more where operands come from memory.
  const double operands = static_cast<double>(s.element) * static_cast<double>(g.product.k) *
                          static_cast<double>(g.product.m + g.product.n);
  const bool is_cached = operands < static_cast<double>(target.l2_bytes);
  const double latency = (both ? 840 : 1210) + (is_cached ? 0 : 600);
  constexpr double kLastCacheBytes = 36, kFirstCacheBytes = 50, kReadBytes = 29;  // a cycle
  constexpr double kSlot = 30;  // cycles of a second barrier for one slot
  constexpr double kDirectFill = 2500;
  constexpr double kStaged = 7;  // cycles of results in shared memory over those of words
  // Cycles until the number of a chunk of an image is known, and whether it is there.
  constexpr double kPlace = 40;
  const auto places = [&](const kernels::Operand& x, int64_t rows) {
    return x.load == Load::im2col ? kPlace * static_cast<double>(rows) * w.line /
                                        kernels::kChunkBytes / static_cast<double>(g.subgroup)
                                  : 0;
  };
  const double placing = (both ? places(g.product.a, coopmat::subgroup_m(g)) : 0) +
                         places(g.product.b, coopmat::subgroup_n(g));
  const auto subgroups_m = static_cast<double>(g.subgroups_m);
  const auto subgroups_n = static_cast<double>(g.subgroups_n);
  const double at_work = hindered * w.unhindered;
  const double loaded = (w.m * (both ? subgroups_n : 1) + w.n * subgroups_m) / kFirstCacheBytes;
  const double read = both ? 0 : w.m * subgroups_n / kReadBytes;
  const double turn = std::max({w.busy * at_work,
                                w.busy * w.slices * w.line *
                                    std::max({(w.m + w.n) / kLastCacheBytes, loaded, read}),
                                latency + 0.3 * at_work * std::max(1.0, kThreads / w.threads)}) +
                      w.loading + placing + (both || g.stages > 1 ? 0 : kSlot);
  const double stores = kStaged * w.exchanged + w.stores;
  return kDirectFill + w.rounds * (w.turns * turn + stores * std::max(1.0, w.busy / 2));
}

class GemmCoopmatTemplate : public GemmTemplate<Shape, GemmCase<CoopmatGemm>> {
 public:
  std::string_view name() const override { return "gemm_coopmat"; }
  int version() const override { return 4; }
  int specificity() const override { return 1; }

 protected:
  std::string_view unit() const override { return "coopmat"; }

  OrRefusal<CoopmatGemm> plan(const Region& region, const Target& target) const override {
    OrRefusal<CoopmatGemm> gemm = plan_coopmat(region, target);
    if (!gemm) return gemm;
    const GemmCase<CoopmatGemm> of(*gemm);
    const std::vector<Constraint> all = constraints(target);
    const bool fits = std::ranges::any_of(candidates(*gemm), [&](Config config) {
      for (const int64_t swapped : {0, 1}) {
        config.set("swapped", swapped);
        config.set("band", 1);
        const Shape shape(of, config);
        if (std::ranges::all_of(all, [&](const Constraint& c) { return c.holds(shape); }))
          return true;
      }
      return false;
    });
    if (!fits) return Refusal{"no tile of its matrix units fits the target"};
    return gemm;
  }

  int64_t most_workgroups(const ContractionExtents& product) const override {
    return tiles_of(product, 32, 32);
  }

  // The plan has the loads of the device source.
  void restrict_loads(MatrixOperand&) const override {}

  std::vector<Parameter> own_parameters() const override {
    return {
        {"block_m", {16, 32, 64, 96, 128, 192, 256}, "rows of a workgroup's tile"},
        {"block_n", {16, 32, 64, 96, 128, 192, 256}, "columns of a workgroup's tile"},
        {"block_k", {16, 32, 64, 96, 128}, "elements of k in a tile"},
        {"subgroups_m", {1, 2, 4}, "subgroups along the tile's rows"},
        {"subgroups_n", {1, 2, 4}, "subgroups along the tile's columns"},
        {"unit_m", {}, "rows of a matrix"},
        {"unit_n", {}, "columns of a matrix"},
        {"unit_k", {}, "elements of k in a matrix"},
        {"stages", {1, 2}, "tiles in shared memory"},
        {"paired",
         {0, 1},
         "whether two tiles of an operand come at once, in whole lines of memory"},
        {"direct",
         {0, 1, 2},
         "operands that go from memory to registers, not through shared memory: B, or both"},
        {"slices", {1, 2, 4, 8}, "groups of subgroups that share the k of a tile"},
        {"band", {1, 4, 8}, "rows of tiles that are walked together"},
    };
  }

  void narrow(std::vector<Parameter>& parameters, const CoopmatGemm& gemm) const override {
    values_of(parameters, "unit_m") = sizes_of(gemm, &exec::MatrixUnit::m);
    values_of(parameters, "unit_n") = sizes_of(gemm, &exec::MatrixUnit::n);
    values_of(parameters, "unit_k") = sizes_of(gemm, &exec::MatrixUnit::k);
  }

  std::vector<Constraint> constraints(const Target& target) const override {
    // Registers of a software device are memory.
    const int64_t registers =
        target.indexed_registers ? int64_t{1} << 20 : target.registers_per_unit;
    return {
        {"the target has matrix units of these sizes",
         [](const Shape& s) { return s.unit != nullptr; }},
        {"subgroups have whole matrices",
         [](const Shape& s) { return coopmat::legal_subgroups(s.kernel); }},
        {"tiles have whole matrices, and rows of whole loads",
         [](const Shape& s) { return coopmat::legal_tiles(s.kernel); }},
        {"paired tiles are lines of 64 bytes along k, which threads load in equal parts",
         [](const Shape& s) { return coopmat::legal_pair(s.kernel); }},
        {"direct operands are chunks of 16 bytes along k, and threads hold mma.sync's fragments",
         [](const Shape& s) {
           return s.kernel.direct == 0 || (s.gemm.fragments && coopmat::legal_direct(s.kernel));
         }},
        {"no more slices than tiles of k",
         [](const Shape& s) { return coopmat::legal_slices(s.kernel); }},
        {"a subgroup multiplies at most 128 matrices in a turn of the main loop",
         [](const Shape& s) { return coopmat::legal_length(s.kernel); }},
        {"lines of a subgroup's results have whole segments",
         [](const Shape& s) { return coopmat::legal_lines(s.kernel); }},
        {"workgroups are no larger than the target's",
         [most = target.max_workgroup_size](const Shape& s) {
           return coopmat::threads(s.kernel) <= most;
         }},
        {"tiles fit into shared memory",
         [bytes = target.static_shared_bytes()](const Shape& s) {
           return coopmat::shared_bytes(s.kernel) <= bytes;
         }},
        {"accumulators, matrices and the tile on its way fit into registers",
         [registers, turns = turns_matrices(target),
          software = target.indexed_registers](const Shape& s) {
           return registers_of(s.kernel, turns) <=
                  (software ? registers
                            : std::min<int64_t>(255, registers / coopmat::threads(s.kernel)));
         }},
        {"a software device, whose compiler takes seconds for what is unrolled, multiplies at most "
         "16 matrices in a turn of the main loop and brings 128 elements a thread",
         [software = target.is_cpu](const Shape& s) {
           return !software || (coopmat::turn_products(s.kernel) <= 16 &&
                                coopmat::turn_elements(s.kernel) <= 128);
         }},
    };
  }

  std::vector<Config> candidates(const CoopmatGemm& gemm) const override {
    struct Candidate {
      int64_t block_m, block_n, bytes_k, subgroups_m, subgroups_n;
    };
    static constexpr Candidate kCandidates[] = {
        {128, 128, 64, 2, 2},  {128, 256, 64, 2, 4}, {256, 128, 64, 4, 2}, {128, 64, 64, 2, 2},
        {192, 128, 128, 4, 2}, {64, 128, 64, 2, 2},  {64, 64, 128, 2, 2},  {64, 64, 64, 2, 2},
        {64, 32, 128, 2, 2},   {32, 64, 256, 2, 2},  {32, 32, 256, 2, 2},  {16, 64, 256, 1, 4},
        {16, 32, 256, 1, 2},   {64, 32, 128, 2, 1},  {32, 32, 128, 2, 1},  {32, 16, 128, 2, 1},
        {32, 32, 64, 1, 1},    {16, 16, 64, 1, 1},   {16, 16, 32, 1, 1},   {64, 64, 32, 1, 1},
        {32, 32, 32, 2, 2},
    };
    // Those of direct operands. Few tiles have slices.
    struct Direct : Candidate {
      int64_t operands, stages, slices;
    };
    static constexpr Direct kDirect[] = {
        {{64, 256, 128, 1, 4}, 1, 1, 1}, {{64, 256, 64, 1, 4}, 1, 2, 1},
        {{64, 256, 64, 1, 4}, 1, 1, 1},  {{64, 192, 128, 1, 4}, 1, 1, 1},
        {{64, 192, 64, 1, 4}, 1, 2, 1},  {{128, 128, 64, 2, 2}, 1, 1, 1},
        {{64, 128, 64, 1, 2}, 1, 1, 1},  {{64, 128, 128, 1, 4}, 1, 1, 1},
        {{32, 128, 128, 1, 4}, 1, 1, 1}, {{64, 64, 128, 1, 2}, 1, 1, 2},
        {{64, 96, 128, 1, 2}, 1, 1, 2},  {{32, 64, 128, 1, 2}, 1, 1, 2},
        {{64, 128, 128, 2, 2}, 2, 1, 1}, {{64, 64, 64, 2, 2}, 2, 1, 2},
        {{64, 64, 128, 2, 2}, 2, 1, 2},  {{32, 64, 64, 1, 1}, 2, 1, 2},
        {{32, 64, 64, 1, 1}, 2, 1, 8},   {{32, 64, 128, 1, 1}, 2, 1, 2},
        {{32, 64, 128, 1, 1}, 2, 1, 4},  {{32, 64, 192, 1, 1}, 2, 1, 4},
        {{32, 64, 128, 1, 2}, 2, 1, 4},  {{32, 32, 64, 1, 1}, 2, 1, 8},
        {{32, 32, 128, 1, 1}, 2, 1, 2},  {{32, 32, 128, 1, 1}, 2, 1, 4},
        {{16, 32, 128, 1, 1}, 2, 1, 8},  {{16, 32, 192, 1, 1}, 2, 1, 8},
        {{16, 32, 192, 1, 1}, 2, 1, 2},  {{32, 32, 192, 2, 1}, 2, 1, 4},
    };
    const int64_t element = size_bytes(gemm.dtype);
    std::vector<Config> candidates;
    const auto add = [&](const exec::MatrixUnit& unit, const Candidate& c, int64_t paired,
                         int64_t direct, int64_t stages, int64_t slices) {
      candidates.push_back({{"block_m", c.block_m},
                            {"block_n", c.block_n},
                            {"block_k", c.bytes_k / element},
                            {"subgroups_m", c.subgroups_m},
                            {"subgroups_n", c.subgroups_n},
                            {"unit_m", unit.m},
                            {"unit_n", unit.n},
                            {"unit_k", unit.k},
                            {"stages", stages},
                            {"paired", paired},
                            {"direct", direct},
                            {"slices", slices}});
    };
    for (const exec::MatrixUnit& unit : gemm.units) {
      for (const Candidate& c : kCandidates)
        for (const auto& [paired, slices] : {std::pair{0, 1}, {1, 1}, {0, 2}, {0, 4}})
          add(unit, c, paired, 0, 1, slices);
      // Beside an image that threads take apart, element by element, a direct operand took 1.5
      // times as long as two tiles in shared memory.
      if (gemm.gathers) continue;
      for (const Direct& c : kDirect) add(unit, c, 0, c.operands, c.stages, c.slices);
    }
    return candidates;
  }

  TileGrid grid(const Shape& s) const override {
    return {s.tiles_m, s.tiles_n, s.block_m, s.block_n, 1};
  }

  GemmCycles cycles(const Shape& s, const Target& target,
                    const EpilogueCost& stored) const override {
    const Work work(s, target, stored);
    GemmCycles cycles;
    cycles.working =
        s.kernel.direct > 0 ? direct_cycles(work, s, target) : shared_cycles(work, s, target);
    return cycles;
  }

  void write(Kernel& kernel, GemmWriter& writer, const Shape& s, const Config&,
             const Target&) const override {
    TCC_CHECK(s.unit, "a config of no matrix unit");
    const SymInt tiles = s.all_tiles(s.block_m, s.block_n);
    GemmCoopmat g = s.kernel;
    const GemmWriter::HeldWords held = writer.held_product(tiles, coopmat::shares_columns(g));
    g.held_columns = held.columns;
    g.held = held.held;
    kernel.workgroup = static_cast<int>(coopmat::threads(s.kernel));
    kernel.uses_lanes = true;
    kernel.grid = tiles;
    kernel.parameters = parameters_of(g, "GemmCoopmat", "common/gemm_coopmat_shape.h");
    add_parameters(kernel.parameters, "sizes", coopmat::sizes(s.kernel));
    kernel.needs.extensions = s.gemm.extensions();
    if (s.kernel.direct > 0) kernel.needs.extensions.insert("GL_EXT_buffer_reference2");
    kernel.needs.matrix_units = {*s.unit};
    if (s.kernel.direct > 0) kernel.needs.matrix_units.push_back(*s.gemm.fragments);
    bring(kernel, writer, s, true);
    bring(kernel, writer, s, false);
  }

 private:
  static void bring(Kernel& kernel, GemmWriter& writer, const Shape& s, bool first) {
    const MatrixOperand& operand = first ? s.side.a : s.side.b;
    if (operand.load == Load::computed) return writer.operand(first, true);
    need_alignment(kernel, operand);
    if (operand.load == Load::im2col) {
      add_image_hooks(kernel, *s.gemm.image, operand.alignment, s.gemm.plan, first, DType::i32);
    } else {
      kernel.hooks.push_back(chunk_hook(operand, operand.alignment, s.gemm.plan, first != s.swapped,
                                        first ? "chunk_a" : "chunk_b"));
    }
    kernel.defines.emplace_back(first ? "A_BUFFER" : "B_BUFFER", str("b", operand.view.buffer));
    // Chunks have numbers of 32 bits.
    const SymInt& elements = kernel.arguments[static_cast<size_t>(operand.view.buffer)].elements;
    if (!elements.is_const())
      kernel.counts.push_back(
          {first ? "CHUNKS_A" : "CHUNKS_B",
           ir::ceildiv(elements, operand.alignment / size_bytes(operand.view.dtype))});
  }
};

const RegisterTemplate<GemmCoopmatTemplate> registered;

}  // namespace

}  // namespace tcc::sched::template_gemm_coopmat
