// Contractions on sm_90a by bulk copies, on matrix units (wgmma) or, of f32, on FMA units: the
// loops are backends/device/cuda/gemm_sm90.cu; regions add what contraction_hooks.h says.
#include <algorithm>
#include <cmath>

#include "backends/device/common/gemm_sm90_shape.h"
#include "scheduler/templates/contraction_tile.h"
#include "scheduler/templates/conv_gemm.h"
#include "scheduler/templates/gemm_template.h"
#include "scheduler/templates/kernel_parameters.h"
#include "support/checked.h"

namespace tcc::sched::template_gemm_sm90 {
namespace {

using Load = MatrixOperand::Load;

using kernels::GemmSm90;
namespace sm90 = kernels::sm90;

constexpr int64_t kLineBytes = sm90::kLineBytes;

kernels::Residual residual_of(const OperandView& view) {
  kernels::Residual residual;
  residual.element = view.dtype == DType::f32 ? kernels::Element::f32 : element_of(view.dtype);
  residual.rank = 2 + static_cast<int64_t>(view.batch.size());
  return residual;
}

// A product, and what no config changes of what the device source gets.
struct Case : GemmCase<ConvGemm> {
  explicit Case(ConvGemm of)
      : GemmCase(std::move(of)),
        plain(parameters(false)),
        swapped(parameters(true)),
        longest_sum(plan.plan.k.size().range().hi) {}

  const GemmSm90 plain, swapped;
  const int64_t longest_sum;

 private:
  GemmSm90 parameters(bool is_swapped) const {
    GemmSm90 g;
    const GemmFacts::Way& way = facts.way(is_swapped);
    g.product = way.product;
    g.fixed_a = way.side.a.fixed;
    g.fixed_b = way.side.b.fixed;
    if (plan.image) g.image = device_image(*plan.image);
    for (kernels::Operand* operand : {&g.product.a, &g.product.b})
      if (operand->load == Load::im2col)
        operand->rank = g.image.spatial + 2;
      else if (sm90::in_pieces(g, *operand))
        ++operand->rank;  // taps
    g.promoted = plan.promoted;
    kernels::Residual* const residuals[] = {&g.residual, &g.residual_2};
    for (size_t i = 0; i < plan.residuals.size(); ++i)
      *residuals[i] = residual_of(plan.residuals[i]);
    return g;
  }
};

GemmSm90 parameters_of_config(const Case& of, bool swapped, const Config& c) {
  GemmSm90 g = swapped ? of.swapped : of.plain;
  g.block_m = c["block_m"];
  g.block_n = c["block_n"];
  g.groups = c["groups"];
  g.split_k = c["split_k"];
  if (of.plan.exact) {
    const int64_t sum = of.longest_sum / g.split_k;
    if (of.plan.plan.fold && sum > folded(sum)) g.fold = folded(sum) / sm90::block_k(g);
  } else {
    g.pingpong = c["pingpong"] != 0;
    g.cluster_m = c["cluster_m"];
    g.cluster_n = c["cluster_n"];
  }
  g.band = c["band"];
  return g;
}

// A config on a product. What a launch needs is in `kernel`, which the device source gets; the rest
// is for the cost model.
struct Shape : GemmShape {
  Shape(const Case& of, const Config& c)
      : GemmShape(of.facts, c),
        gemm(of.plan),
        image(gemm.image ? &*gemm.image : nullptr),
        residuals(gemm.residuals),
        kernel(parameters_of_config(of, swapped, c)),
        groups(kernel.groups),
        pingpong(kernel.pingpong),
        cluster_m(kernel.cluster_m),
        cluster_n(kernel.cluster_n),
        split_k(kernel.split_k),
        bytes(size_bytes(gemm.dtype) == 1),
        f8(is_f8(gemm.dtype)),
        promoted(gemm.promoted),
        line(sm90::block_k(kernel)),
        k_tiles(sm90::k_tiles(kernel)),
        tiles_m(sm90::tiles_m(kernel)),
        tiles_n(sm90::tiles_n(kernel)) {}

  // Fills in what the target decides: how many clusters run at once.
  GemmSm90 clustered_on(const Target& target) const {
    GemmSm90 g = kernel;
    g.clusters = target.concurrent_clusters(cluster());
    if (!kernels::has_open_tiles(g.product)) g.clusters = std::min<int64_t>(g.clusters, tiles());
    return g;
  }
  // The same, and how many stages fit.
  GemmSm90 on(const Target& target) const {
    GemmSm90 g = clustered_on(target);
    g.strips = sm90::is_f32(g) ? 0 : sm90::strips_within(g, target.shared_bytes);
    g.stages = sm90::stages_within(g, target.shared_bytes);
    return g;
  }
  int64_t stages(const Target& target) const { return on(target).stages; }

  ContractionTile tile() const {
    return {block_m * cluster_m, block_n * cluster_n, line, product.segment};
  }
  int64_t cluster() const { return sm90::cluster(kernel); }
  int64_t slabs() const { return sm90::slabs(kernel); }
  // Clusters' worth of tiles, and how many rounds of them there are.
  int64_t tiles() const { return sm90::tiles(kernel); }
  SymInt all_tiles() const {
    return GemmShape::all_tiles(block_m * cluster_m, block_n * cluster_n);
  }
  int64_t rounds(const Target& target) const {
    return ceil_div(tiles(), target.concurrent_clusters(cluster()));
  }
  // The workgroups are those of all tiles; busy SMs have one of them.
  int64_t workgroups() const { return tiles() * cluster(); }
  double busy_units(const Target& target) const {
    return static_cast<double>(std::min<int64_t>(workgroups(), target.compute_units));
  }
  // Rows of a tile of the first or the second operand that one of the workgroups which share them
  // copies, at the usual sizes.
  double rows_copied(bool first) const {
    const int64_t rows = first ? sm90::rows_a(kernel, side.m) : sm90::rows_b(kernel, side.n);
    return static_cast<double>(rows) / static_cast<double>(first ? cluster_n : cluster_m);
  }

  const ConvGemm& gemm;
  const ConvView* image;  // of the gemm; null: there is none
  const std::vector<OperandView>& residuals;
  GemmSm90 kernel;
  int64_t groups, pingpong, cluster_m, cluster_n, split_k;
  bool bytes, f8, promoted;
  int64_t line;  // a row of a tile in shared memory, in elements along k
  int64_t k_tiles, tiles_m, tiles_n;
};

// Cycles in which threads bring their operands' rows of a k tile: latency and instructions.
double load_cycles(const Shape& s) {
  constexpr double kLatency = 1500, kComputedRow = 6, kLineRow = 4;
  // Where each vector of an image under windows has a condition of its own, 48 to 115 were
  // measured.
  constexpr double kGatheredRow = 60;
  const double kSingleRow = s.bytes ? 120 : 200;  // of single elements
  auto of_rows = [&](const MatrixOperand& operand, int64_t rows) {
    if (kernels::is_copied(operand.load)) return 0.0;
    const MatrixOperand& image = s.gemm.operand_of(0);
    const double computed = operand.vector < 4 ? kSingleRow / static_cast<double>(operand.vector)
                            : s.gemm.guards && &operand == &image ? kGatheredRow
                                                                  : kComputedRow;
    return static_cast<double>(rows) * (operand.load == Load::rows ? kLineRow : computed);
  };
  const double rows = of_rows(s.side.a, s.block_m) + of_rows(s.side.b, s.block_n);
  return rows > 0 ? kLatency + rows : 0;
}

// Cycles of a k tile's products on FMA units. A warp issues them with loads of shared memory; some
// of them read two registers of a bank, which takes one cycle more. Few products wait for their
// loads. The wait and the loads were set by 222 configs of six products on an H200, the cycles of a
// product by the machine code of 13 kernels.
double fma_products(const Shape& s) {
  constexpr double kFma = 1.05;   // of a product
  constexpr double kPairs = 1.2;  // where columns along k are turned two by two, of wide tiles
  // Where nothing is turned, and the neighbours of one operand or of both are along k.
  constexpr double kMixed = 1.18, kAlongK = 1.25;
  constexpr double kCramped = 1.35;  // where three groups leave few registers to choose from
  constexpr double kLoad = 2.5, kOther = 20;     // of four k, of a warp
  constexpr double kWait = 130;                  // of four k, at least, of all warps
  constexpr double kFours = 8, kSchedulers = 4;  // of a tile of k, of an SM
  constexpr double kAlone = 1.1;                 // a scheduler with one warp waits for its loads
  const auto slabs = static_cast<double>(s.slabs()), eights = static_cast<double>(s.block_n) / 8;
  const double warps = 4 * static_cast<double>(s.groups);
  const bool turns = sm90::turns(s.kernel), a = s.side.a.major_k, b = s.side.b.major_k;
  const bool pairs = b && s.block_n % 32 != 0 && s.block_n > 64;
  const bool cramped = s.groups == 3 && a && s.block_n > 64;
  const double fma = cramped              ? kCramped
                     : turns || !(a || b) ? (pairs ? kPairs : kFma)
                     : a && b             ? kAlongK
                                          : kMixed;
  const double four = fma * 16 * slabs * eights + kLoad * (4 * slabs + eights) + kOther;
  return kFours * std::max(kWait, warps / kSchedulers * four * (s.groups == 1 ? kAlone : 1));
}

// Cycles of a k tile's products. An SM multiplies 64 x 256 x 16 16-bit elements in 128. A group
// that promotes sums waits for them and adds them up, most of it while the other groups multiply.
double products(const Shape& s) {
  if (sm90::is_f32(s.kernel)) return fma_products(s);
  constexpr double kWait = 190, kExposed = 0.1;
  const auto n = static_cast<double>(s.block_n);
  const auto groups = static_cast<double>(s.pingpong ? 1 : s.groups);
  const double slab = 2 * n, promotion = s.promoted ? n / 2 + kWait : 0;
  const double exposed = groups > 1 ? kExposed * promotion / (groups - 1) : 0;
  return static_cast<double>(s.slabs()) * (std::max(groups * slab, slab + promotion) + exposed);
}

// Cycles in which an SM gets the rows of a k tile from the last-level cache, by what it reads alone
// and by what the cache gives to all. That is less where neighbours share no lines, as those do
// that share k, and where lines begin inside of sectors of 32 bytes: of these each SM reads more as
// well.
double cached_cycles(const Shape& s, const Target& target) {
  constexpr int64_t kSector = 32;
  constexpr double kInsideOwn = 1.5, kInsideAll = 3.2;
  const double own = s.f8 ? 70 : 64, all = s.split_k > 1 ? 5000 : s.f8 ? 9200 : 7900;
  double own_bytes = 0, all_bytes = 0;
  for (const bool first : {true, false}) {
    const MatrixOperand& operand = first ? s.side.a : s.side.b;
    const double bytes = s.rows_copied(first) * kLineBytes;
    const bool inside =
        operand.load != Load::computed && !operand.view.aligned(kSector, operand.line_stride());
    own_bytes += bytes * (inside ? kInsideOwn : 1);
    all_bytes += bytes * (inside ? kInsideAll : 1);
  }
  return std::max(own_bytes / own, all_bytes * s.busy_units(target) / all);
}

// Bytes of stages that wait for memory, where one of the operands is read once.
double in_flight(const Shape& s, const Target& target) {
  if (s.computed || (s.tiles_m * s.cluster_m > 1 && s.tiles_n * s.cluster_n > 1)) return HUGE_VAL;
  const double rows = s.rows_copied(true) + s.rows_copied(false);
  const auto tiles = static_cast<double>(s.tiles_m * s.tiles_n * s.cluster_m * s.cluster_n);
  const double from_memory =
      std::min(1.0, static_cast<double>(s.side.m + s.side.n) / (tiles * rows));
  const auto stages =
      static_cast<double>(std::min(s.stages(target), ceil_div(s.k_tiles, s.split_k)));
  return s.busy_units(target) * stages * rows * kLineBytes * from_memory;
}

// Cycles in which the epilogue waits for residuals that no strips bring.
double residual_cycles(const Shape& s, const Target& target) {
  constexpr double kLatency = 900;
  if (s.residuals.empty() || s.on(target).strips > 0) return 0;
  return kLatency * static_cast<double>(sm90::epilogue_reads(s.kernel));
}

// Bytes of the operands that tiles read after others have.
double read_again(const Shape& s) {
  const int64_t elements = (ceil_div(s.side.n, s.block_n) - 1) * s.side.m +
                           (ceil_div(s.side.m, s.block_m) - 1) * s.side.n;
  return static_cast<double>(s.batches * s.k * elements) * kLineBytes / static_cast<double>(s.line);
}

// Boxes as the device source says: `rows` of a tile, of which each of `share` workgroups loads a
// slice. `free`: the extent of the operand's own axis.
TensorMap tensor_map(const Shape& s, const MatrixOperand& operand, const SymInt& free, int64_t rows,
                     int64_t share, bool clips, std::string name) {
  const OperandView& view = operand.view;
  if (operand.major_k) {
    TensorMap map =
        tiled_map(view, std::move(name),
                  {{{s.gemm.plan.k.size(), 1, s.line}, {free, view.free_stride, rows / share}}});
    if (clips) {
      map.clip.assign(map.box.size(), 0);
      map.clip[1] = static_cast<int>(sm90::kEight);
    }
    return map;
  }
  return tiled_map(view, std::move(name),
                   {{{free, 1, s.line}, {s.gemm.plan.k.size(), view.k_stride, s.line / share}}});
}

// The strips of a residual as the device source says.
TensorMap residual_map(const Shape& s, const OperandView& view, std::string name) {
  const int64_t columns = sm90::segments(s.kernel) * 8;
  TensorMap map = tiled_map(
      view, std::move(name),
      {{{s.gemm.plan.n.size(), 1, s.swapped ? sm90::kStripRows : columns},
        {s.gemm.plan.m.size(), view.free_stride, s.swapped ? columns : sm90::kStripRows}}});
  map.swizzle = 0;
  return map;
}

std::string high_of(const GemmSm90& g, const kernels::Operand& operand) {
  return std::to_string(sm90::descriptor_high(sm90::row_bytes(g, operand)));
}

// Maps of an image, and of what is read beside one whose taps end inside of pieces.
TensorMap image_map(const Shape& s, int64_t pixels, std::string name) {
  const auto map = im2col_map(*s.image, std::move(name), static_cast<int>(sm90::piece_k(s.kernel)),
                              static_cast<int>(pixels), static_cast<int>(s.kernel.image.piece));
  TCC_CHECK(map, map.reason());
  return *map;
}
TensorMap pieces_map(const Shape& s, const MatrixOperand& operand, const SymInt& free, int64_t rows,
                     std::string name) {
  const OperandView& view = operand.view;
  const int64_t element = size_bytes(view.dtype), channels = s.kernel.image.channels,
                piece = sm90::piece_k(s.kernel);
  TensorMap map;
  map.name = std::move(name);
  map.argument = view.buffer;
  map.dtype = view.dtype;
  map.offset = view.offset;
  map.strides = {operand.line_stride() * element, channels * view.k_stride * element};
  if (operand.major_k) {
    map.dims = {channels, free, sm90::taps(s.kernel.image)};
    map.box = {static_cast<int>(piece), static_cast<int>(rows), 1};
    map.swizzle = static_cast<int>(s.kernel.image.piece);
  } else {
    map.dims = {free, channels, sm90::taps(s.kernel.image)};
    map.box = {64, static_cast<int>(piece), 1};
  }
  return map;
}

class GemmSm90Template : public GemmTemplate<Shape, Case> {
 public:
  std::string_view name() const override { return "gemm_sm90"; }
  int version() const override { return 1; }
  int specificity() const override { return 2; }

 protected:
  std::string_view unit() const override { return "wgmma"; }

  OrRefusal<ConvGemm> plan(const Region& region, const Target& target) const override {
    return plan_conv_gemm(region, target, unit());
  }

  // Small tiles, whose sums the workgroups of a cluster share.
  int64_t most_workgroups(const ContractionExtents& product) const override {
    constexpr int64_t kCluster = 8;
    return kCluster * tiles_of(product, 64, 32);
  }

  // This source can load these as they are; the rest is computed.
  void restrict_loads(MatrixOperand& operand) const override {
    // wgmma transposes 16-bit elements only.
    const bool transposes = size_bytes(operand.dtype) == 2;
    const bool tiles = operand.load == Load::tiles && (operand.major_k || transposes) &&
                       operand.view.batch.size() <= 3;
    const bool rows = operand.load == Load::rows && operand.major_k;
    if (!tiles && !rows && operand.load != Load::im2col) operand.load = Load::computed;
    if (!transposes) operand.major_k = true;
  }

  std::vector<Parameter> own_parameters() const override {
    return {
        {"block_m", {64, 128, 192, 256}, "rows of a tile"},
        {"block_n", {8, 16, 32, 64, 96, 128, 160, 192, 224, 256}, "columns of a tile"},
        {"groups", {1, 2, 3}, "warpgroups that multiply"},
        {"pingpong", {0, 1}, "whether each of two groups has tiles of its own"},
        {"cluster_m", {1, 2, 4}, "tiles of a cluster that share columns"},
        {"cluster_n", {1, 2, 4}, "tiles of a cluster that share rows"},
        {"split_k", {1, 2, 4, 8}, "workgroups that share the k of a tile"},
        {"band", {1, 2, 4, 8, 16}, "rows of clusters that are walked together"},
    };
  }

  std::vector<Constraint> constraints(const Target& target) const override {
    return {
        {"groups have 64 or 128 rows", [](const Shape& s) { return sm90::legal_groups(s.kernel); }},
        {"accumulators fit into registers",
         [](const Shape& s) { return sm90::fits_registers(s.kernel); }},
        {"two stages or more fit into shared memory",
         [target](const Shape& s) { return s.stages(target) >= 2; }},
        {"clusters share copied tiles, or split k",
         [](const Shape& s) { return sm90::legal_cluster(s.kernel); }},
        {"all that share k add up columns, if there is more than one round",
         [target](const Shape& s) { return sm90::all_own_columns(s.clustered_on(target)); }},
    };
  }

  std::vector<Config> candidates(const ConvGemm&) const override {
    struct Candidate {
      int64_t block_m, block_n, groups, pingpong, cluster_m, cluster_n;
    };
    static constexpr Candidate kCandidates[] = {
        {128, 256, 2, 0, 2, 1}, {128, 256, 2, 0, 1, 1}, {256, 128, 2, 0, 1, 2},
        {128, 192, 2, 0, 2, 1}, {128, 192, 2, 0, 1, 1}, {256, 128, 2, 0, 1, 1},
        {128, 128, 2, 1, 2, 1}, {128, 128, 2, 1, 1, 1}, {64, 256, 2, 1, 2, 1},
        {64, 256, 2, 1, 1, 1},  {64, 192, 2, 1, 1, 1},  {128, 160, 2, 0, 1, 1},
        {128, 128, 2, 0, 1, 1}, {128, 96, 2, 0, 1, 1},  {128, 64, 2, 0, 1, 1},
        {64, 128, 1, 0, 1, 1},  {64, 64, 1, 0, 1, 1},   {128, 32, 2, 0, 1, 1},
        {64, 32, 1, 0, 1, 1},   {128, 16, 2, 0, 1, 1},  {64, 16, 1, 0, 1, 1},
        {128, 8, 2, 0, 1, 1},   {64, 8, 1, 0, 1, 1},    {128, 224, 2, 0, 1, 1},
        {128, 192, 2, 1, 2, 1}, {128, 192, 2, 1, 1, 1}, {64, 224, 1, 0, 1, 1},
        {192, 128, 3, 0, 1, 1}, {192, 96, 3, 0, 1, 1},  {128, 160, 2, 0, 2, 1},
        {128, 160, 2, 0, 2, 2}, {128, 160, 2, 0, 4, 1}, {64, 96, 1, 0, 1, 1},
        {64, 160, 1, 0, 1, 1},  {64, 32, 1, 0, 2, 2},   {64, 64, 1, 0, 2, 2},
        {64, 128, 1, 0, 2, 2},  {128, 128, 2, 0, 2, 2}, {256, 64, 2, 0, 1, 1},
    };
    std::vector<Config> candidates;
    for (const Candidate& c : kCandidates)
      for (int64_t split : {1, 2, 4, 8})
        candidates.push_back({{"block_m", c.block_m},
                              {"block_n", c.block_n},
                              {"groups", c.groups},
                              {"pingpong", c.pingpong},
                              {"cluster_m", c.cluster_m},
                              {"cluster_n", c.cluster_n},
                              {"split_k", split}});
    return candidates;
  }

  TileGrid grid(const Shape& s) const override {
    return {s.tiles_m, s.tiles_n, s.block_m * s.cluster_m, s.block_n * s.cluster_n, s.cluster()};
  }

  // Rounds of tiles on all SMs, each as long as the resource that it needs most. The constants are
  // fitted to about 200 configs on an H200 (docs/performance.md), those of bytes to 370, of f8 to
  // 70.
  GemmCycles cycles(const Shape& s, const Target& target,
                    const EpilogueCost& stored) const override {
    constexpr double kSharedBytes = 128;  // a cycle, of shared memory
    constexpr double kUnitShare = 2.0;    // of the fair share of memory bandwidth, that an SM draws
    constexpr double kLatency = 1.4e-6;   // of memory that is at its limit, in seconds
    constexpr double kAgain = 0.05;     // of memory's time, what the cache takes for the same bytes
    constexpr double kFill = 1500;      // cycles until the first tile is there
    constexpr double kLeastTile = 250;  // cycles of a k tile: its barriers, and what waits for them
    const double kTurns = s.f8 ? 1 : 1.08;  // as long, products of a group at a time
    constexpr double kAlone = 1.4;          // on the only tile
    constexpr double kTurn = 900;           // cycles that ping-pong loses when the groups change
    constexpr double kEpilogue = 500;       // cycles before and after its loop
    constexpr double kTransposed = 2;       // as long, staging and storing segments along the rows
    constexpr double kScattered = 3;        // as long, an epilogue of such segments in ping-pong
    constexpr double kSlots = 166;          // instructions of single threads, a cycle, of the hook
    constexpr double kHidden = 0.25;        // of the hook, by the other group's products
    constexpr double kDrained = 0.3;  // of the stores, that the other group's products do not hide
    constexpr double kCluster = 0.4e-6;
    constexpr double kExchange = 500, kPeerBytes = 6;  // cycles, and bytes a cycle, of split sums
    constexpr double kCoupled = 1500;  // cycles of a tile, in which workgroups wait for each other
    const auto m = static_cast<double>(s.block_m), n = static_cast<double>(s.block_n);
    // These are the numbers of one tile of k.
    const auto workgroups = static_cast<double>(s.workgroups());
    const auto rounds = static_cast<double>(s.rounds(target));
    // Groups that take turns multiply alone, and have nobody to overlap with on their only tile.
    const double turns = !s.pingpong ? 1 : rounds < 2 ? kAlone : kTurns;
    const double product = products(s) * turns;
    const double shared = m / 64 * (64 + n) * kLineBytes / kSharedBytes;
    const double k_tile =
        std::max({product, shared, cached_cycles(s, target), load_cycles(s), kLeastTile});
    const auto k_tiles = static_cast<double>(ceil_div(s.k_tiles, s.split_k));
    const double multiply = k_tiles * k_tile;
    const double part = m * n / static_cast<double>(s.split_k);  // that a workgroup stores
    const double exchange = s.split_k > 1 ? kExchange + (m * n - part) * 4 / kPeerBytes : 0;
    const double hook = part * stored.slots / kSlots + residual_cycles(s, target);
    const double transposed = s.swapped ? kTransposed : 1;
    const double staged = part * 8 / kSharedBytes * transposed;
    // Results of 16 bits drain as fast as they are staged; those of bytes may be 32 bits wide, and
    // come twice as often.
    const double drain = s.bytes ? part * stored.drain * transposed : 0;
    const double epilogue = kEpilogue + exchange + std::max(staged + hook, drain);
    // Groups that take turns wait for epilogues that are longer than the other's products.
    const double of_group = kEpilogue + (staged / transposed + hook) * (s.swapped ? kScattered : 1);
    const double between =
        s.pingpong
            ? std::max({kTurn + (1 - kHidden) * hook, kDrained * drain, (of_group - multiply) / 2})
            : epilogue;
    GemmCycles cycles;
    const double coupled = s.cluster_m * s.cluster_n > 1 ? kCoupled : 0;
    cycles.working = rounds * (multiply + coupled) + (rounds - 1) * between;
    cycles.outside = kFill + epilogue;
    cycles.read_again = kAgain * read_again(s);
    cycles.drawn = std::min({1.0, workgroups * kUnitShare / target.compute_units,
                             in_flight(s, target) / (kLatency * target.bandwidth)});
    cycles.seconds = s.cluster() > 1 ? kCluster : 0;
    return cycles;
  }

  void write(Kernel& kernel, GemmWriter& writer, const Shape& s, const Config&,
             const Target& target) const override {
    const GemmSm90 parameters = s.on(target);
    const std::span<const OperandView> residuals =
        std::span(s.residuals).first(parameters.strips > 0 ? s.residuals.size() : 0);
    const SymInt tiles = s.all_tiles(), clusters = ir::min(tiles, parameters.clusters);
    writer.product(tiles, residuals);
    if (writer.has_open_tiles()) kernel.counts.push_back({"CLUSTERS", clusters});
    kernel.workgroup = static_cast<int>(sm90::threads(parameters));
    kernel.cluster = static_cast<int>(s.cluster());
    kernel.resident = 1;
    kernel.grid = clusters * s.cluster();
    kernel.shared_bytes = sm90::shared_bytes(parameters);
    kernel.parameters = parameters_of(parameters, "GemmSm90", "common/gemm_sm90_shape.h");
    // The preprocessor makes the instruction's text of it.
    if (!sm90::is_f32(s.kernel)) kernel.defines.push_back({"WGMMA_N", std::to_string(s.block_n)});
    if (s.image && !sm90::is_f32(s.kernel)) {
      kernel.defines.push_back({"WGMMA_HIGH_A", high_of(s.kernel, s.kernel.product.a)});
      kernel.defines.push_back({"WGMMA_HIGH_B", high_of(s.kernel, s.kernel.product.b)});
    }
    for (const bool first : {true, false}) {
      writer.operand(first, false);
      const MatrixOperand& operand = first ? s.side.a : s.side.b;
      if (!kernels::is_copied(operand.load)) continue;
      const std::string map = first ? "map_a" : "map_b";
      const SymInt& free = first ? s.side.rows : s.side.columns;
      const int64_t rows = first ? sm90::rows_a(s.kernel) : sm90::rows_b(s.kernel),
                    share = first ? s.cluster_n : s.cluster_m;
      kernel.maps.push_back(
          operand.load == Load::im2col ? image_map(s, rows / share, map)
          : sm90::is_ragged(s.kernel)
              ? pieces_map(s, operand, free, rows / share, map)
              : tensor_map(s, operand, free, rows, share,
                           first ? sm90::clips_a(s.kernel) : sm90::clips_b(s.kernel), map));
    }
    for (size_t i = 0; i < residuals.size(); ++i)
      kernel.maps.push_back(
          residual_map(s, residuals[i], i == 0 ? "map_residual" : "map_residual_2"));
  }
};

// The same loops for f32 on FMA units.
class FmaSm90Template : public GemmSm90Template {
 public:
  std::string_view name() const override { return "fma_sm90"; }
  int version() const override { return 1; }
  int specificity() const override { return 0; }
  std::string_view unit() const override { return ""; }

 protected:
  std::string_view source() const override { return "gemm_sm90"; }

  OrRefusal<ConvGemm> plan(const Region& region, const Target& target) const override {
    if (!target.box_copies) return Refusal{"the target has no bulk copies of tensors", true};
    OrRefusal<ConvGemm> gemm = plan_exact_conv_gemm(region);
    if (!gemm) return gemm.refusal();
    for (const auto& [x, input] :
         {std::pair(&gemm->a, gemm->plan.a.input), std::pair(&gemm->b, gemm->plan.b.input)})
      if (x->load != Load::tiles || x->view.batch.size() > 3)
        return Refusal{str(region.anchor->op->operands[static_cast<size_t>(input)],
                           " is not made of tiles that bulk copies bring")};
    return gemm;
  }

  void restrict_loads(MatrixOperand&) const override {}

  std::vector<Parameter> own_parameters() const override {
    return {
        {"block_m", {64, 128, 192, 256}, "rows of a tile"},
        {"block_n", {8, 16, 32, 48, 64, 80, 96, 112, 128}, "columns of a tile"},
        {"groups", {1, 2, 3}, "warpgroups that multiply"},
        {"split_k", {1, 2, 4, 8}, "workgroups that share the k of a tile"},
        {"band", {1, 2, 4, 8, 16}, "rows of clusters that are walked together"},
    };
  }

  std::vector<Constraint> constraints(const Target& target) const override {
    std::vector<Constraint> all = GemmSm90Template::constraints(target);
    all.push_back({"B lies along k, or workgroups have 32 columns, 64 and so on",
                   [](const Shape& s) { return sm90::legal_fma(s.kernel); }});
    return all;
  }

  std::vector<Config> candidates(const ConvGemm&) const override {
    static constexpr int64_t kTiles[][3] = {
        {256, 128, 2}, {256, 64, 2}, {128, 128, 2}, {128, 96, 2},  {128, 64, 2}, {128, 48, 2},
        {128, 32, 2},  {128, 64, 1}, {64, 128, 1},  {64, 96, 1},   {64, 64, 1},  {64, 32, 1},
        {256, 32, 2},  {128, 16, 2}, {64, 48, 1},   {64, 16, 1},   {192, 96, 3}, {192, 64, 3},
        {192, 32, 3},  {256, 96, 2}, {256, 80, 2},  {256, 112, 2}, {128, 80, 2}, {128, 112, 2},
        {64, 80, 1},   {64, 112, 1},
    };
    std::vector<Config> candidates;
    for (const auto& [block_m, block_n, groups] : kTiles)
      for (const int64_t split : {1, 2, 4, 8})
        candidates.push_back(
            {{"block_m", block_m}, {"block_n", block_n}, {"groups", groups}, {"split_k", split}});
    return candidates;
  }
};

const RegisterTemplate<GemmSm90Template> registered;
const RegisterTemplate<FmaSm90Template> registered_fma;

}  // namespace

}  // namespace tcc::sched::template_gemm_sm90
