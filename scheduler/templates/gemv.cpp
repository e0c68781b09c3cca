// Products with few rows (or columns) without matrix units, at the bandwidth of the large operand:
// the loops are backends/device/cuda/gemv.cu and backends/device/glsl/gemv.comp.
#include <algorithm>
#include <numeric>

#include "backends/device/common/gemv_shape.h"
#include "ir/passes/graph_rewrite.h"
#include "scheduler/cost.h"
#include "scheduler/device_sources.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/contraction_hooks.h"
#include "scheduler/templates/gemm.h"
#include "scheduler/templates/kernel_parameters.h"
#include "scheduler/templates/matrix_operand.h"
#include "scheduler/templates/product_candidate.h"
#include "scheduler/work.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched::template_gemv {
namespace {

using Load = MatrixOperand::Load;

// Beyond, matrix units win of large operands: those of CUDA begin with tiles of 64 rows,
// cooperative matrices with 16 (one H200, 4 rows of 4096 x 4096 in f16: 16.1 and 11.6 us).
constexpr int64_t kFewRows = 4, kFewRowsBySubgroups = 3;
constexpr int64_t kLeastSubgroup = 16;      // narrower ones, as a CPU's, share few sums by shuffles
constexpr int64_t kMostElements = 1 << 18;  // of an operand that is not large
constexpr int64_t kLeastElements = 1 << 8;  // of the larger operand: below, nothing is gained
constexpr int64_t kMostRegisters = 160;     // of a thread, for sums and loaded elements

// A workgroup computes `rows` rows. The hooks read the last row for those that are not there, and
// store none.
int64_t most(const FlatAxes& axes) { return axes.size().range().hi; }

// A region as the kernel sees it: few rows m, many columns n.
struct Gemv {
  ContractionPlan plan;
  bool swapped = false;  // the few rows are the plan's columns
  MatrixOperand b;       // the large operand, streamed
  int64_t vector = 1;    // of its loads, in elements
  int64_t clusters = 1;  // the most workgroups that share k
  // Elements of the small operand take arithmetic: a workgroup keeps them where so many bytes are
  // room for them.
  bool computes_small = false;
  int64_t shared_bytes = 0;
  bool fixed_b = false;   // no kernel writes the large operand, which comes in tiles
  int64_t subgroup = 32;  // threads that exchange sums by shuffles
  // The source reads chunks of 8 or 16 bytes by their number, and no lines of other alignments.
  bool by_chunks = false;

  const ContractionPlan::Operand& small_operand() const { return swapped ? plan.b : plan.a; }
  const FlatAxes& rows() const { return swapped ? plan.n : plan.m; }
  int64_t m() const { return most(rows()); }
  int64_t usual_m() const { return rows().size().usual(); }
  bool has_open_rows() const { return !rows().size().is_const(); }
  int64_t n() const { return most(swapped ? plan.m : plan.n); }
};

bool is_streamed(DType dtype) {
  return dtype == DType::f32 || (is_low_precision(dtype) && !is_f8(dtype));
}

// Whether rows and columns are too many already as the op has them: those of the plan are no fewer.
bool may_have_many_rows(const Region& region) {
  if (!region.anchor || region.anchor->op->kind != ir::OpKind::contraction) return false;
  const ir::Contraction op = region.anchor->op->contraction(*region.anchor);
  return std::min(ir::product(op.m).usual(), ir::product(op.n).usual()) > kernels::gemv::kMostRows;
}

// Whether the region computes the value, by more than moving and casting.
bool is_computed(const Region& region, const ir::Value* value) {
  if (!value || !region.contains(value)) return false;
  const ir::Node* node = value->producer;
  if (node->op->kind != ir::OpKind::view && node->op_name() != "cast") return true;
  return std::ranges::any_of(node->inputs,
                             [&](const ir::Value* input) { return is_computed(region, input); });
}

// Whether so many rows fill half of the smaller side of a matrix unit.
bool fills_units(const Target& target, int64_t rows) {
  return std::ranges::any_of(target.matrix_units, [&](const exec::MatrixUnit& unit) {
    return 2 * rows >= std::min(unit.m, unit.n);
  });
}

OrRefusal<Gemv> plan_gemv(const Region& region, const Target& target) {
  if (may_have_many_rows(region)) return Refusal{"a product of many rows and columns"};
  constexpr int64_t kWidest = 8;
  OrRefusal<ContractionPlan> plan = plan_contraction(region, kWidest, Rows::reduced);
  if (!plan) return plan.refusal();
  if (plan->accumulator != DType::f32)
    return Refusal{str("sums are kept in ", tcc::name(plan->accumulator), ", not in f32")};
  const bool open_m = !plan->m.size().is_const(), open_n = !plan->n.size().is_const();
  if (!plan->k.size().is_const() || !plan->batch.size().is_const() || (open_m && open_n))
    return Refusal{"more than the few rows come at run time"};
  const FlatAxes* const open = open_m ? &plan->m : open_n ? &plan->n : nullptr;
  if (open && most(*open) > kernels::gemv::kMostRows)
    return Refusal{"more rows may come at run time than a thread sums"};
  const int64_t m = most(plan->m), n = most(plan->n), k = plan->k.fixed_size();
  const int64_t rows = std::min(m, n), elements = std::max(m, n) * k;
  const bool by_units = !is_of_exact_f32(region) && fills_units(target, rows);
  const bool is_narrow = target.subgroup_size < kLeastSubgroup;
  const int64_t few = target.api == Api::vulkan ? kFewRowsBySubgroups : kFewRows;
  if (rows > (is_narrow ? kFewRows : kernels::gemv::kMostRows) ||
      (rows > few && elements > kMostElements && by_units) || elements < kLeastElements)
    return Refusal{
        str("a product of ", m, " x ", n, " x ", k, " has too many rows or too few elements")};
  if (!has_device_source(target, "gemv")) return lacks_source(target, "gemv");
  if (!target.subgroup_shuffle) return Refusal{"the target has no shuffles"};
  Gemv gemv;
  gemv.swapped = n < m;
  if (open) {
    if (open != (gemv.swapped ? &plan->n : &plan->m))
      return Refusal{"the many columns come at run time"};
    if (open->size().range().lo < 1) return Refusal{"there may be no rows at run time"};
    if (!plan->rows.empty()) return Refusal{"reduced rows come at run time"};
  }
  ContractionPlan::Operand& small = gemv.swapped ? plan->b : plan->a;
  if (!plan->rows.empty()) {
    if (plan->rows.of_a == gemv.swapped) return Refusal{"rows of the larger operand are reduced"};
    if (!small.along_k) small = {small.input, true, 1};
  }
  gemv.computes_small =
      is_computed(region, region.anchor->inputs[static_cast<size_t>(small.input)]);
  gemv.shared_bytes = target.static_shared_bytes();
  gemv.subgroup = target.subgroup_size;
  gemv.by_chunks = target.api == Api::vulkan;
  const ContractionPlan::Operand& large = gemv.swapped ? plan->a : plan->b;
  const std::optional<OperandView> view = operand_view(region, *plan, gemv.swapped);
  if (view && is_streamed(view->dtype))
    gemv.b = described_operand(region, *view, *plan, gemv.swapped);
  else
    gemv.b.major_k = large.along_k;
  if (gemv.b.load == Load::computed) {
    gemv.vector = large.vector;
  } else {
    // Vectors divide the contiguous extent; where they would be short, lines are shifted.
    const int64_t element = size_bytes(gemv.b.dtype), extent = gemv.b.major_k ? k : std::max(m, n);
    gemv.vector = std::gcd(gemv.b.alignment / element, extent);
    gemv.b.load = gemv.vector * element >= 8 ? Load::tiles
                  : gemv.by_chunks           ? Load::computed
                                             : Load::rows;
    if (gemv.b.load == Load::rows) gemv.vector = 16 / element;
    if (gemv.b.load == Load::computed) gemv.vector = large.vector;
    gemv.b.alignment = gemv.vector * element;
    gemv.fixed_b = gemv.b.load == Load::tiles && gemv.b.fixed;
  }
  if (rows > kFewRows && gemv.b.load == Load::computed)
    return Refusal{str("a product of ", rows, " rows computes its larger operand")};
  // Where the columns are neighbours, a workgroup takes many of them, and few workgroups have all.
  if (!gemv.b.major_k) gemv.clusters = std::min(8, target.max_cluster);
  gemv.plan = *std::move(plan);
  return gemv;
}

// How B is read: in memory it has its own type, and threads multiply f32.
kernels::Element element_in_memory(DType dtype) {
  return dtype == DType::f32 ? kernels::Element::f32 : element_of(dtype);
}

// The parameters of the device source; `small` is the operand of few rows.
kernels::Gemv parameters_of_config(const Gemv& gemv, const ContractionPlan::Operand& small,
                                   const Config& c) {
  kernels::Gemv g;
  kernels::Product& product = g.product;
  product.m = gemv.m();
  product.n = gemv.n();
  product.k = gemv.plan.k.fixed_size();
  product.batches = gemv.plan.batch.fixed_size();
  product.swapped = gemv.swapped;
  product.a.load = Load::computed;
  product.a.element = kernels::Element::f32;
  product.a.vector = small.vector;
  product.a.vector_along_k = product.a.major_k = small.along_k;
  product.b.load = gemv.b.load;
  product.b.element = element_in_memory(gemv.b.dtype);
  product.b.major_k = product.b.vector_along_k = gemv.b.major_k;
  product.b.vector = gemv.vector;
  if (gemv.b.load != Load::computed) product.b.buffer = gemv.b.view.buffer;
  if (const OperandRows& rows = gemv.plan.rows; !rows.empty())
    g.rows = {rows.count(), rows.stages, rows.columns / part_width(rows)};
  g.fixed_b = gemv.fixed_b;
  g.block_m = c["rows"];
  g.columns = c["columns"];
  g.lanes_n = c["lanes_n"];
  g.warps_n = c["warps_n"];
  g.warps_k = c["warps_k"];
  g.k_unit = c["k_unit"];
  g.unroll = c["unroll"];
  g.cluster = gemv.clusters > 1 ? c["cluster"] : 1;
  g.subgroup = gemv.subgroup;
  product.segment = gemv.swapped ? 1 : std::min<int64_t>(8, kernels::gemv::block_columns(g));
  g.staged = gemv.computes_small;
  if (g.staged) g.staged = kernels::gemv::shared_bytes(g) <= gemv.shared_bytes;
  return g;
}

struct Shape {
  Shape(const Gemv& gemv, const Config& c)
      : kernel(parameters_of_config(gemv, gemv.small_operand(), c)),
        rows(kernel.block_m),
        columns(kernel.columns),
        warps_k(kernel.warps_k),
        k_unit(kernel.k_unit),
        unroll(kernel.unroll),
        loads(kernels::gemv::loads(kernel)) {}
  int64_t block_columns() const { return kernels::gemv::block_columns(kernel); }
  int64_t threads() const { return kernels::gemv::threads(kernel); }
  int64_t block_k() const { return kernels::gemv::block_k(kernel); }
  kernels::Gemv kernel;
  int64_t rows, columns, warps_k, k_unit, unroll, loads;
};

class StreamedProduct : public ProductCandidate {
 public:
  StreamedProduct(const Template& by, const Region& region, const Target& target, Gemv gemv)
      : ProductCandidate(by, region, target), gemv_(std::move(gemv)) {}

 private:
  // The cost model counts what the small operand takes.
  bool computes_operands_once() const override {
    return gemv_.computes_small && gemv_.b.load != Load::computed;
  }

  // Few columns each, and threads along k.
  int64_t most_workgroups(const ContractionExtents& product) const override {
    constexpr int64_t kColumns = 8;
    return product.batch * ceil_div(std::max(product.m, product.n), kColumns);
  }

  // Streams take vectors of the bytes that copies for matrix units take, and need the same rows.
  // The target lists the units that templates should rather use first.
  std::string_view row_unit() const override {
    const std::vector<exec::MatrixUnit>& units = target().matrix_units;
    return units.empty() ? std::string_view() : units.front().kind;
  }

  ConfigSpace make_space() const override {
    const Gemv& gemv = gemv_;
    ConfigSpace space;
    space.parameters = kernel_template().parameters();
    values_of(space.parameters, "rows") = row_counts();
    if (gemv.clusters > 1)
      std::erase_if(values_of(space.parameters, "cluster"),
                    [&](int64_t size) { return size > gemv.clusters; });
    else
      leave_out(space.parameters, "cluster");
    space.complete = [m = gemv.m()](Config& config) {
      if (!config.has("rows")) config.set("rows", m);
    };
    space.constraints = {
        {"units are vectors where k is contiguous, else columns are",
         [gemv](const Config& c) { return kernels::gemv::legal_units(Shape(gemv, c).kernel); }},
        {"workgroups of 64 to 512 threads",
         [gemv](const Config& c) {
           const int64_t threads = Shape(gemv, c).threads();
           return threads >= 64 && threads <= 512;
         }},
        {"sums and loaded elements fit into registers",
         [gemv](const Config& c) {
           return kernels::gemv::registers(Shape(gemv, c).kernel) <= kMostRegisters;
         }},
        {"sums fit into shared memory",
         [gemv](const Config& c) {
           return kernels::gemv::shared_bytes(Shape(gemv, c).kernel) <= gemv.shared_bytes;
         }},
        {"no more threads along k than units",
         [gemv](const Config& c) {
           const Shape s(gemv, c);
           return s.warps_k * s.kernel.cluster == 1 ||
                  s.block_k() / s.unroll < 2 * gemv.plan.k.fixed_size();
         }},
    };
    return space;
  }

  // Those that divide the rows, or any that a workgroup may have where rows come at run time: a
  // kernel for more rows than there are is right, and one for fewer runs more workgroups.
  std::vector<int64_t> row_counts() const {
    std::vector<int64_t> counts;
    const bool is_open = gemv_.has_open_rows();
    for (int64_t count = 1; count <= kernels::gemv::kMostRows; ++count)
      if (is_open || gemv_.m() % count == 0) counts.push_back(count);
    return counts;
  }

  Config make_default_config() const override {
    if (gemv_.clusters > 1)
      if (Config config = shared_default(); own_space().violation(config).empty()) return config;
    if (Config config = unshared_default(); !config.values().empty()) return config;
    return first_legal();
  }

  // Many threads with few columns each keep the most loads in flight; more rows share what is
  // loaded over more columns.
  // Nothing where none of these is legal.
  Config unshared_default() const {
    const bool major_k = gemv_.b.major_k;
    const int64_t m = gemv_.m();
    // Where chunks are read by their number, columns share what that takes: of two rows, two
    // columns of a thread take 1.04 to 1.25 times as long (one H200).
    const int64_t few_columns = gemv_.by_chunks ? 8 : 2;
    // Narrow subgroups, a CPU's, sum along k in few threads: 2 to 10 times as fast on llvmpipe.
    const bool is_narrow = gemv_.subgroup < kLeastSubgroup;
    const int64_t columns = !major_k             ? gemv_.vector
                            : m > 2 || is_narrow ? 8
                            : m == 1             ? 1
                                                 : few_columns;
    const int64_t lanes_n = is_narrow ? 8 : !major_k ? 4 : gemv_.by_chunks && columns > 1 ? 2 : 1;
    const int64_t k_unit = major_k ? gemv_.vector : m <= 2 ? 8 : 4;
    const int64_t most_warps_k = is_narrow ? 1 : !major_k ? 16 : m <= 2 ? 8 : 4;
    const std::vector<int64_t> counts_n =
        is_narrow ? std::vector<int64_t>{4, 2, 1} : std::vector<int64_t>{1, 2};
    for (int64_t warps_k = most_warps_k; warps_k >= 1; warps_k /= 2)
      for (const int64_t warps_n : counts_n)
        for (int64_t unroll : {major_k && columns < 8 ? 2 : 1, 1}) {
          Config config{{"rows", m},          {"columns", columns}, {"k_unit", k_unit},
                        {"lanes_n", lanes_n}, {"warps_n", warps_n}, {"warps_k", warps_k},
                        {"unroll", unroll}};
          if (gemv_.clusters > 1) config.set("cluster", 1);
          if (own_space().violation(config).empty()) return config;
        }
    return {};
  }

  // Lines of 128 bytes of 16-bit elements, and two units in flight where k is long enough.
  //
  // A fixed operand's units are held while the launch before ends: one, so that two workgroups have
  // the registers of an SM. Up to four for each SM share k: where all run at once, all wait for
  // memory at once, while of two rounds some load as others end. The sums of more than two rows
  // take the registers of 512 threads: workgroups have 256, and two of them have an SM's.
  //
  // Where the operand is not fixed, and its columns are lines for a third of the SMs, a warp has
  // whole lines, and a workgroup for each SM 512 threads: 1.2 to 1.6 times as fast as the former on
  // an H200 (1 to 4 rows, 4096 and 14336 x 4096 in f16), but 1.2 times as slow for 8192 x 2048.
  Config shared_default() const {
    constexpr int64_t kLeastWarpsK = 4;
    constexpr int64_t kLines = 8;  // vectors of a block's columns
    const int64_t blocks =
        gemv_.plan.batch.fixed_size() * ceil_div(gemv_.n(), gemv_.vector * kLines);
    const bool has_few = gemv_.m() <= 2, fixed = gemv_.fixed_b;
    const bool by_lines = !fixed && 3 * blocks >= target().compute_units;
    const int64_t lanes = by_lines ? kLines : kLines / 2, warps = kLines / lanes;
    const int64_t most_warps_k = by_lines ? 16 : has_few ? 8 : 4;
    const int64_t most_blocks = by_lines ? 1 : has_few ? 4 : 2;
    const int64_t k_unit = has_few ? 8 : 4;
    const int64_t shares = gemv_.plan.k.fixed_size() / (k_unit * (32 / lanes));
    int64_t cluster = 1;
    while (2 * cluster <= gemv_.clusters &&
           2 * blocks * cluster <= most_blocks * target().compute_units &&
           2 * cluster * kLeastWarpsK <= shares)
      cluster *= 2;
    int64_t warps_k = 1;
    while (2 * warps_k <= most_warps_k && warps_k * cluster < shares) warps_k *= 2;
    return {{"rows", gemv_.m()},  {"columns", gemv_.vector},
            {"lanes_n", lanes},   {"warps_n", warps},
            {"warps_k", warps_k}, {"k_unit", k_unit},
            {"cluster", cluster}, {"unroll", !fixed && shares >= 2 * warps_k * cluster ? 2 : 1}};
  }

  Config first_legal() const {
    Config first;
    own_space().enumerate([&](const Config& config) {
      first = config;
      return false;
    });
    TCC_CHECK(!first.values().empty(), "no legal config on ", target().id());
    return first;
  }

  CostModel make_cost_model() const override {
    const double epilogue = region_slots(region()), bytes = region_bytes(region());
    const SmallWork small = work_of_small();
    return [gemv = gemv_, target = target(), epilogue, bytes, small](const Config& config) {
      const Shape s(gemv, config);
      const auto vector = static_cast<double>(gemv.vector), m = static_cast<double>(s.rows);
      const int64_t row_blocks = ceil_div(gemv.usual_m(), s.rows);
      const auto columns = static_cast<double>(s.columns);
      LaunchCost cost;
      cost.threads = static_cast<double>(s.threads());
      cost.workgroups =
          static_cast<double>(gemv.plan.batch.fixed_size() * kernels::gemv::blocks_n(s.kernel) *
                              row_blocks * s.kernel.cluster);
      cost.cluster = static_cast<double>(s.kernel.cluster);
      cost.shared_bytes = static_cast<double>(kernels::gemv::shared_bytes(s.kernel));
      const auto steps = static_cast<double>(ceil_div(gemv.plan.k.fixed_size(), s.block_k()));
      const double threads = cost.workgroups * cost.threads;
      // One thread does this in one step.
      const double loads = static_cast<double>(s.unroll * s.loads);
      const double a_elements = static_cast<double>(s.unroll * s.k_unit) * m;
      const bool staged = s.kernel.staged;
      const double a_loads = a_elements / (staged ? 4 : 8) + 1;
      const double products = static_cast<double>(s.unroll * s.k_unit) * columns * m;
      const double shifting = gemv.b.load == Load::rows ? 24 : 0;
      // A workgroup that keeps the small operand computes each element once, a thread else.
      const double a_computed =
          staged ? cost.workgroups * m * static_cast<double>(kernels::gemv::own_k(s.kernel))
                 : threads * steps * a_elements;
      const double rows = cost.workgroups * m * static_cast<double>(gemv.plan.rows.columns);
      cost.accesses =
          threads * steps * (loads + a_loads) + (staged ? a_computed : 0) + rows * small.row_loads;
      cost.arithmetic =
          threads * (steps * (products + loads * (vector + 4 + shifting) + a_loads * 8) + 60 +
                     10 * m * columns) +
          a_computed * small.slots + rows * small.row_slots + epilogue;
      cost.elements = threads * steps * loads * vector;
      cost.memory_bytes = bytes;
      cost.cache_bytes =
          bytes +
          b_bytes(gemv) * (static_cast<double>(row_blocks) * cache_share(gemv, s.kernel) - 1);
      cost.registers = 40 + m * columns + loads * vector;
      cost.bytes_in_flight = loads * static_cast<double>(gemv.b.alignment);
      cost.round_trips = 1 + steps;
      cost.barriers = 1 + static_cast<double>(gemv.plan.rows.stages) + (staged ? 1 : 0);
      cost.stalls = (rows > 0 ? 1 : 0) + (staged ? 1 : 0);
      cost.parallelism = 8;
      return predicted_seconds(cost, target);
    };
  }

  // The work of one element of the small operand, and of one of a row that is reduced.
  struct SmallWork {
    double slots = 0, row_slots = 0, row_loads = 0;
  };
  SmallWork work_of_small() const {
    SmallWork work;
    if (!gemv_.computes_small) return work;
    const ContractionPlan& plan = gemv_.plan;
    const bool of_a = !gemv_.swapped;
    const SymInt batch = SymInt::axis("b", plan.batch.size()),
                 free = SymInt::axis("f", (of_a ? plan.m : plan.n).size()),
                 k = SymInt::axis("k", plan.k.size());
    Inliner inliner(region());
    const std::vector<Expr> element = {
        operand_element(inliner, region(), plan, of_a, batch, free, k)};
    work.slots = element_work(element, k).slots;
    if (plan.rows.empty()) return work;
    const SymInt column = SymInt::axis("c", plan.rows.columns);
    for (const Expr& one : row_elements(region(), plan, batch, free, column)) {
      const ElementWork each = element_work(std::vector<Expr>{one}, column);
      work.row_slots += each.slots + 1;
      work.row_loads += each.contiguous / static_cast<double>(part_width(plan.rows)) +
                        each.scattered + each.shared / static_cast<double>(part_width(plan.rows));
    }
    return work;
  }

  // Bytes of the large operand.
  static double b_bytes(const Gemv& gemv) {
    return static_cast<double>(gemv.plan.batch.fixed_size() * gemv.n()) *
           static_cast<double>(gemv.plan.k.fixed_size()) * size_bytes(gemv.b.dtype);
  }

  // The cache gives 64 bytes a clock to a request, two sectors of a line, where a warp asks for
  // fewer neighbours, too. Returns the bytes that so pass over those that are asked for.
  static double cache_share(const Gemv& gemv, const kernels::Gemv& g) {
    constexpr double kGranule = 64;
    const int64_t neighbours =
        gemv.vector * (g.product.b.major_k ? kernels::gemv::lanes_k(g) : g.lanes_n);
    const auto bytes = static_cast<double>(neighbours * size_bytes(gemv.b.dtype));
    return std::max(1.0, kGranule / bytes);
  }

  KernelSequence lower(const Config& config) const override {
    const Region& region = this->region();
    Gemv gemv = gemv_;
    ContractionPlan::Operand& small = gemv.swapped ? gemv.plan.b : gemv.plan.a;
    small.vector = std::gcd(small.vector, config[small.along_k ? "k_unit" : "rows"]);
    // All threads of a workgroup compute what it keeps.
    if (const Shape wide(gemv, config); wide.kernel.staged && small.along_k)
      while (small.vector > 1 && kernels::gemv::own_k(wide.kernel) < small.vector * wide.threads())
        small.vector /= 2;
    const Shape s(gemv, config);
    Kernel kernel = start_kernel(region);
    kernel.source = "gemv";
    kernel.parameters = parameters_of(s.kernel, "Gemv", "common/gemv_shape.h");
    kernel.workgroup = static_cast<int>(s.threads());
    kernel.cluster = static_cast<int>(s.kernel.cluster);
    kernel.uses_lanes = gemv.by_chunks;
    const SymInt row_blocks = ir::ceildiv(gemv.rows().size(), s.rows);
    if (!row_blocks.is_const()) kernel.counts.push_back({"BLOCKS_M", row_blocks});
    kernel.grid = row_blocks * gemv.plan.batch.fixed_size() *
                  (kernels::gemv::blocks_n(s.kernel) * s.kernel.cluster);
    kernel.flops = gemv.plan.flops();
    ContractionTile tile{s.rows, s.block_columns(), s.block_k(), s.kernel.product.segment};
    if (gemv.swapped) std::swap(tile.block_m, tile.block_n);
    const ContractionHooks hooks(region, gemv.plan, tile);
    kernel.hooks.push_back(hooks.load(!gemv.swapped, "load_a"));
    if (const OperandRows& rows = gemv.plan.rows; !rows.empty()) {
      kernel.hooks.push_back(start_rows_hook(rows));
      kernel.hooks.push_back(reduce_rows_hook(region, gemv.plan));
      kernel.hooks.push_back(combine_rows_hook(rows));
    }
    if (gemv.b.load == Load::computed) {
      kernel.hooks.push_back(hooks.load(gemv.swapped, "load_b"));
    } else {
      need_alignment(kernel, gemv.b);
      kernel.hooks.push_back(gemv.b.load == Load::rows ? line_hook(gemv.b, gemv.plan, "row_b")
                             : gemv.by_chunks ? chunk_hook(gemv.b, gemv.b.alignment, gemv.plan,
                                                           gemv.swapped, "chunk_b")
                                              : vector_hook(gemv.b, gemv.plan, "vector_b"));
      if (gemv.by_chunks) kernel.defines.emplace_back("B_BUFFER", str("b", gemv.b.view.buffer));
    }
    kernel.hooks.push_back(hooks.epilogue());
    return kernel;
  }

 private:
  Gemv gemv_;
};

class GemvTemplate : public Template {
 public:
  std::string_view name() const override { return "gemv"; }
  int version() const override { return 1; }
  int specificity() const override { return 3; }
  std::vector<Parameter> parameters() const override {
    return {
        {"rows", {}, "rows of a workgroup"},
        {"columns", {1, 2, 4, 8}, "neighbouring columns of a thread"},
        {"lanes_n",
         {1, 2, 4, 8},
         "threads of a subgroup along the columns; the others are along k"},
        {"warps_n", {1, 2, 4}, "subgroups along the columns"},
        {"warps_k", {1, 2, 4, 8, 16}, "subgroups along k"},
        {"k_unit", {1, 2, 4, 8}, "neighbouring k that a thread takes at once"},
        {"unroll", {1, 2, 4}, "units in flight"},
        {"cluster", {1, 2, 4, 8}, "workgroups that share the sums along k"},
    };
  }
  bool takes_open_dims() const override { return true; }

  Match match(const Region& region, const Target& target) const override {
    OrRefusal<Gemv> gemv = plan_gemv(region, target);
    if (!gemv) return gemv.refusal();
    return std::make_shared<const StreamedProduct>(*this, region, target, *std::move(gemv));
  }
};

const RegisterTemplate<GemvTemplate> registered;

}  // namespace

}  // namespace tcc::sched::template_gemv
