#include "scheduler/templates/gemm.h"

#include <algorithm>
#include <numeric>

#include "scheduler/cost.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/kernel_parameters.h"
#include "scheduler/work.h"
#include "support/checked.h"
#include "support/error.h"
#include "support/plural.h"

namespace tcc::sched {
namespace {

using Load = MatrixOperand::Load;

// Elements of a vector along k that a hook may load: 16 bytes.
constexpr int64_t kWidest = 16;
// Below these the FMA units are as fast, and their kernels compile faster.
constexpr int64_t kLeastK = 8, kLeastProducts = 1 << 18;
constexpr int64_t kLeastRows = 64;   // of exact f32, or columns
constexpr int64_t kMostColumns = 8;  // of a segment
constexpr int64_t kMostHeld = 12;    // words of a segment that wait in registers
constexpr int64_t kCopyAlignment = 16;

ContractionTile tile_of_plan(const ContractionTile& tile, bool swapped) {
  if (!swapped) return tile;
  return {tile.block_n, tile.block_m, tile.block_k, tile.segment};
}

// An operand as its device source reads it; `of_plan` is what the load hook reads.
kernels::Operand kernel_operand(const MatrixOperand& operand,
                                const ContractionPlan::Operand& of_plan) {
  kernels::Operand result;
  result.load = operand.load;
  result.element = element_of(operand.dtype);
  result.major_k = operand.major_k;
  if (operand.load == Load::computed) {
    result.vector = of_plan.vector;
    result.vector_along_k = of_plan.along_k;
  } else {
    result.vector = operand.alignment / size_bytes(operand.dtype);
    result.vector_along_k = operand.major_k;
    result.buffer = operand.view.buffer;
    result.rank = 2 + static_cast<int64_t>(operand.view.batch.size());
  }
  return result;
}

int64_t usual_products(const ContractionPlan& plan) {
  return plan.batch.size().usual() * plan.m.size().usual() * plan.n.size().usual() *
         plan.k.size().usual();
}

// f8 as what the other operand is, f16 with f8: exact, since f8 is part of every wider type.
void widen_f8(const ContractionPlan& plan, MatrixOperand& a, MatrixOperand& b) {
  const DType other = is_f8(a.dtype) ? b.dtype : a.dtype, wide = is_f8(other) ? DType::f16 : other;
  if (is_f8(a.dtype)) a = converted_operand(plan, true, wide);
  if (is_f8(b.dtype)) b = converted_operand(plan, false, wide);
}

}  // namespace

// Neither operand is narrower than f32, in memory or computed.
bool is_of_exact_f32(const Region& region) {
  if (region.tf32 || !region.anchor || region.anchor->op->kind != ir::OpKind::contraction)
    return false;
  return std::ranges::all_of(region.anchor->inputs,
                             [](const ir::Value* v) { return v->dtype() == DType::f32; }) &&
         std::ranges::all_of(region.inputs,
                             [](const ir::Value* v) { return v->dtype() == DType::f32; });
}

Gemm::Sides Gemm::sides(bool swapped) const {
  const SymInt m = plan.m.size(), n = plan.n.size();
  return swapped ? Sides{b, a, n, m, n.usual(), m.usual()}
                 : Sides{a, b, m, n, m.usual(), n.usual()};
}

kernels::Product Gemm::product(bool swapped) const {
  const Sides side = sides(swapped);
  kernels::Product product;
  product.m = side.m;
  product.n = side.n;
  product.k = plan.k.size().usual();
  product.batches = plan.batch.size().usual();
  product.open.m = !side.rows.is_const();
  product.open.n = !side.columns.is_const();
  product.open.k = !plan.k.size().is_const();
  product.open.batches = !plan.batch.size().is_const();
  product.a = kernel_operand(side.a, swapped ? plan.b : plan.a);
  product.b = kernel_operand(side.b, swapped ? plan.a : plan.b);
  if (exact) product.a.element = product.b.element = kernels::Element::f32;
  product.sum = sum_of(plan.accumulator);
  product.swapped = swapped;
  product.segment = plan.n.size().known_power_of_two(kMostColumns);
  return product;
}

OrRefusal<Gemm> plan_gemm(const Region& region, const Target& target, std::string_view unit) {
  const bool has_product = region.anchor && region.anchor->op->kind == ir::OpKind::contraction;
  if (!target.has_matrix_unit(unit))
    return Refusal{str("the target has no ", unit, " units"), !has_product};
  const auto products = std::ranges::count_if(
      region.nodes, [](const ir::Node* node) { return node->op->kind == ir::OpKind::contraction; });
  if (products > 1) return Refusal{"it has more than one product", true};
  if (is_of_exact_f32(region)) {
    const bool as_tf32 = target.multiplies(unit, DType::f32, DType::f32, DType::f32);
    return Refusal{str(unit, " units do not multiply f32",
                       as_tf32 ? ", but read it as tf32 with --matmul-precision high" : "")};
  }
  OrRefusal<ContractionPlan> plan = plan_contraction(region, kWidest);
  if (!plan) return plan.refusal();
  const bool bytes = is_integer(plan->accumulator) && size_bytes(plan->accumulator) == 4;
  if (!bytes && plan->accumulator != DType::f32)
    return Refusal{str(unit, " units do not sum up in ", name(plan->accumulator))};
  // Few products, and none at all where a dim is 0.
  const int64_t k = plan->k.size().usual(), terms = usual_products(*plan);
  if (k < kLeastK || terms < kLeastProducts)
    return Refusal{str(counted(terms, "product"), ", ", k, " in a sum, ", terms == 1 ? "is" : "are",
                       " too few for ", unit, " units")};
  auto a = matrix_operand(region, *plan, true), b = matrix_operand(region, *plan, false);
  if (!a || !b) return Refusal{str(unit, " units do not multiply the operands' types")};
  // Only a product of f8 counts: operands that are f8 widened have sums like any product's.
  const bool f8 = is_f8(region.anchor->inputs[0]->dtype());
  if (!f8 || !target.multiplies_f8(unit)) widen_f8(*plan, *a, *b);
  // Sums of bytes have one sign or the other: their bits are the same.
  const bool unsigned_sums = bytes && target.multiplies(unit, a->dtype, b->dtype, DType::u32);
  const DType sum = unsigned_sums ? DType::u32 : bytes ? DType::i32 : DType::f32;
  if (!bytes && !f8 && a->dtype != b->dtype)
    return Refusal{str("operands of ", name(a->dtype), " and ", name(b->dtype))};
  if (!target.multiplies(unit, a->dtype, b->dtype, sum))
    return Refusal{str(unit, " units do not multiply ", name(a->dtype), " by ", name(b->dtype))};
  const bool exact =
      !bytes && !f8 && !is_low_precision(region.anchor->outputs[0]->dtype()) && !region.tf32;
  const int64_t exact_sum = target.exact_sum(unit, a->dtype, b->dtype, sum);
  if (exact && exact_sum > 0 && plan->k.size().range().hi > exact_sum)
    return Refusal{str(unit, " units truncate sums of ", plan->k.size(),
                       " products, whose result is ", name(region.anchor->outputs[0]->dtype()))};
  return Gemm{*std::move(plan), *a, *b, a->dtype, is_f8(a->dtype) && !region.unit_sums, false};
}

OrRefusal<Gemm> plan_exact_gemm(const Region& region) {
  if (!is_of_exact_f32(region)) return Refusal{"it is no product of f32", true};
  OrRefusal<ContractionPlan> plan = plan_contraction(region, kWidest);
  if (!plan) return plan.refusal();
  const int64_t m = plan->m.size().usual(), n = plan->n.size().usual(), k = plan->k.size().usual(),
                products = usual_products(*plan);
  if (std::max(m, n) < kLeastRows || k < kLeastK || products < kLeastProducts)
    return Refusal{str(counted(products, "product"), " of ", m, " x ", n, ", ", k, " in a sum, ",
                       products == 1 ? "fills" : "fill", " no tiles")};
  const auto operand = [&](bool of_a) {
    const std::optional<OperandView> view = operand_view(region, *plan, of_a);
    return view && view->dtype == DType::f32 ? described_operand(region, *view, *plan, of_a)
                                             : converted_operand(*plan, of_a, DType::f32);
  };
  const MatrixOperand a = operand(true), b = operand(false);
  return Gemm{*std::move(plan), a, b, DType::f32, false, true};
}

GemmFacts::GemmFacts(const Gemm& gemm)
    : all_batches(gemm.plan.batch.size()),
      batches(all_batches.usual()),
      k(gemm.plan.k.size().usual()),
      computed(!kernels::is_copied(gemm.a.load) || !kernels::is_copied(gemm.b.load)),
      plain_{gemm.sides(false), gemm.product(false)},
      swapped_{gemm.sides(true), gemm.product(true)} {}

GemmShape::GemmShape(const GemmFacts& facts, const Config& config)
    : block_m(config["block_m"]),
      block_n(config["block_n"]),
      band(config["band"]),
      swapped(config["swapped"] != 0),
      side(facts.way(swapped).side),
      computed(facts.computed),
      batches(facts.batches),
      k(facts.k),
      product(facts.way(swapped).product),
      all_batches(facts.all_batches) {}

double launch_seconds(const GemmCycles& cycles, double bytes, const Target& target) {
  constexpr double kLaunch = 2e-6;
  constexpr double kExposed = 0.1;  // of the shorter one of working and memory, that neither hides
  const double clock = target.clock();
  const double working = cycles.working / clock,
               memory = (bytes + cycles.read_again) / (target.bandwidth * cycles.drawn);
  return kLaunch + cycles.seconds + cycles.outside / clock + std::max(working, memory) +
         kExposed * std::min(working, memory);
}

EpilogueCost epilogue_cost(const Region& region, const Gemm& gemm, const Target& target) {
  constexpr double kStore = 8;
  const ContractionPlan& plan = gemm.plan;
  const auto elements = static_cast<double>(plan.batch.size().usual() * plan.m.size().usual() *
                                            plan.n.size().usual());
  double stored = 0;
  for (const ir::Value* output : region.outputs) stored += size_bytes(output->dtype());
  const double share = target.bandwidth / target.compute_units / target.clock();
  return {kStore + region_slots(region) / elements, stored / share};
}

int64_t read_by_neighbours(const TileGrid& grid, int64_t band, const Target& target) {
  std::vector<int64_t> groups = target.unit_groups;
  groups.push_back(target.compute_units);
  int64_t read = 0;
  for (const int64_t units : groups) {
    const int64_t tiles = std::max<int64_t>(1, units / grid.workgroups);
    int64_t rows = std::min({tiles, band, grid.tiles_m}), columns = ceil_div(tiles, rows);
    if (columns > grid.tiles_n) {
      rows = std::min(grid.tiles_m, rows * ceil_div(columns, grid.tiles_n));
      columns = grid.tiles_n;
    }
    read += rows * grid.rows + columns * grid.columns;
  }
  return read;
}

Config fastest_candidate(std::span<const Config> candidates, const ConfigSpace& space,
                         const CostModel& cost, const LegalGrid& legal, const Target& target) {
  std::optional<Config> best;
  double best_seconds = 0;
  auto consider = [&](Config config) {
    config.set("band", 1);  // what is not legal in it is in none
    const std::optional<TileGrid> grid = legal(config);
    if (!grid) return;
    const auto reads = [&](int64_t band) { return read_by_neighbours(*grid, band, target); };
    // Among bands that read the same, the smallest one: neighbours write whole rows of the result.
    std::vector<std::pair<int64_t, int64_t>> bands;  // with what they read
    for (const int64_t band : {1, 2, 4, 8}) bands.emplace_back(reads(band), band);
    std::ranges::sort(bands);
    for (const auto& [read, band] : bands) {
      config.set("band", band);
      if (band == 1 || legal(config)) break;
    }
    const double seconds = cost(config);
    if (best && seconds >= best_seconds) return;
    best = config;
    best_seconds = seconds;
  };
  for (Config config : candidates)
    for (const int64_t swapped : {0, 1}) {
      config.set("swapped", swapped);
      consider(config);
    }
  if (!best)
    space.enumerate([&](const Config& config) {
      best = config;
      return false;
    });
  TCC_CHECK(best, "no legal config of a matrix kernel");
  return *best;
}

GemmWriter::GemmWriter(Kernel& kernel, const Region& region, const Target& target, const Gemm& gemm,
                       bool swapped, const ContractionTile& tile)
    : kernel_(kernel),
      rate_(target.flops_matrix),
      region_(region),
      gemm_(gemm),
      swapped_(swapped),
      tile_(tile_of_plan(tile, swapped)),
      sides_(gemm.sides(swapped)),
      hooks_(region_, gemm_.plan, tile_) {}

void GemmWriter::sizes(const SymInt& tiles) {
  const std::pair<const char*, SymInt> sizes[] = {
      {"SIZE_M", sides_.rows}, {"SIZE_N", sides_.columns}, {"SIZE_K", gemm_.plan.k.size()}};
  for (const auto& [name, size] : sizes)
    if (!size.is_const()) kernel_.counts.push_back({name, size});
  // The range of a size may leave one number of tiles: the source has no other way to it.
  if (has_open_tiles()) kernel_.counts.push_back({"TILES", tiles});
  kernel_.flops = gemm_.plan.flops();
  if (!gemm_.exact) kernel_.flop_rate = rate_ * 2 / size_bytes(gemm_.dtype);
}

GemmWriter::HeldWords GemmWriter::held_product(const SymInt& tiles, bool shares_columns) {
  sizes(tiles);
  ContractionHooks::HeldEpilogue epilogue = hooks_.held_epilogue(shares_columns, kMostHeld);
  std::ranges::move(epilogue.hooks, std::back_inserter(kernel_.hooks));
  return {epilogue.columns, epilogue.held};
}

void GemmWriter::product(const SymInt& tiles, std::span<const OperandView> residuals) {
  sizes(tiles);
  std::vector<int> read;
  for (const OperandView& view : residuals) read.push_back(view.buffer);
  kernel_.hooks.push_back(hooks_.epilogue(read));
  for (size_t i = 0; i < residuals.size(); ++i) {
    need_alignment(kernel_, residuals[i], kCopyAlignment);
    if (!residuals[i].batch.empty())
      kernel_.hooks.push_back(coordinates_hook(residuals[i], gemm_.plan.batch.size(),
                                               i == 0 ? "batch_residual" : "batch_residual_2"));
  }
}

bool GemmWriter::has_open_tiles() const {
  return !sides_.rows.is_const() || !sides_.columns.is_const() ||
         !gemm_.plan.batch.size().is_const();
}

void GemmWriter::add_lines(const MatrixOperand& operand, const std::string& side) {
  kernel_.hooks.push_back(line_hook(operand, gemm_.plan, "row_" + side));
  // Sources keep the distance of two lines, in bytes, in 32 bits.
  const SymInt distance = operand.line_stride() * size_bytes(operand.dtype);
  if (!distance.is_const()) kernel_.counts.push_back({"LINE_BYTES_" + side, distance});
}

void GemmWriter::operand(bool first, bool vectors) {
  const bool of_a = first != swapped_;
  const MatrixOperand& operand = first ? sides_.a : sides_.b;
  const std::string side = first ? "a" : "b";
  need_alignment(kernel_, operand);
  if (operand.load == Load::computed)
    kernel_.hooks.push_back(hooks_.load(of_a, "load_" + side));
  else if (operand.load == Load::rows)
    add_lines(operand, side);
  else if (operand.load == Load::im2col) {
    if (!operand.view.batch.empty())
      kernel_.hooks.push_back(group_hook(operand, gemm_.plan, "batch_" + side));
  } else if (vectors)
    kernel_.hooks.push_back(vector_hook(operand, gemm_.plan, "vector_" + side));
  else if (!operand.view.batch.empty())
    kernel_.hooks.push_back(batch_hook(operand, gemm_.plan, "batch_" + side));
}

int64_t GemmWriter::workspace(std::string name, DType dtype, int64_t elements, bool zeroed) {
  workspaces_.push_back({std::move(name), dtype, elements, zeroed});
  Argument argument{dtype, Argument::Access::read_write, elements, kCopyAlignment};
  argument.needed = kCopyAlignment;
  kernel_.arguments.push_back(argument);
  return std::ssize(kernel_.arguments) - 1;
}

KernelSequence GemmWriter::sequence() && {
  KernelSequence sequence(std::move(kernel_));
  sequence.workspaces = std::move(workspaces_);
  return sequence;
}

}  // namespace tcc::sched
