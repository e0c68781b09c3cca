// Contractions (matrix products and convolutions) on FMA units: the loops are device source,
// backends/device/*/ contraction.*; what a region adds to them (index maps, prologue, epilogue) are
// its hooks.
#include <algorithm>
#include <memory>
#include <optional>

#include "scheduler/cost.h"
#include "scheduler/device_sources.h"
#include "scheduler/source_compiler.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/contraction_hooks.h"
#include "scheduler/templates/contraction_plan.h"
#include "scheduler/templates/contraction_tile.h"
#include "scheduler/templates/operand_view.h"
#include "scheduler/templates/product_candidate.h"
#include "scheduler/work.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched::template_contraction {
namespace {

// GLSL's compilers must take SPIR-V's instructions.
constexpr const char* kInstructions = "GL_EXT_spirv_intrinsics";

// Whether one instruction multiplies bytes of which those of one operand alone are signed. RDNA 2
// has none, and its driver makes eleven times as much of one of SPIR-V's.
bool mixes_signs(const Target& target) {
  return target.vendor == "nvidia" || target.vendor == "intel";
}

// Products that one instruction takes, of neighbours along k: dp4a of CUDA and SPIR-V's dot
// products sum four products of bytes. A zero point that is subtracted before the product leaves
// bytes. Where that is slow, the sums of A's rows and B's columns correct the product of the bytes
// as they are: sum((a - p)(b - q)) = sum(ab) - q sum(a) - p sum(b) + k p q.
int64_t pack_of(const Region& region, const ContractionPlan& plan, const Target& target) {
  const auto dtype_of = [&](int operand) {
    return region.anchor->inputs[static_cast<size_t>(operand)]->dtype();
  };
  const bool packs = target.byte_products && is_integer(plan.accumulator) &&
                     size_bytes(plan.accumulator) == 4 && is_byte(dtype_of(plan.a.input)) &&
                     is_byte(dtype_of(plan.b.input)) &&
                     lacking_extension(target.api, kInstructions).empty();
  return packs ? 4 : 1;
}

FmaProduct product_of(const Region& region, const ContractionPlan& plan, int64_t pack) {
  FmaProduct product;
  product.batch = plan.batch.size().usual();
  product.m = plan.m.size().usual();
  product.n = plan.n.size().usual();
  product.k = ceil_div(plan.k.size().usual(), pack);
  product.most_k = ceil_div(plan.k.size().range().hi, pack);
  product.pack = pack;
  // Indices and bounds of what is no view of a buffer.
  constexpr double kView = 16, kComputed = 40;
  const auto operand = [&](bool of_a) {
    const auto& of_plan = of_a ? plan.a : plan.b;
    const bool is_computed = open_dims(region).empty() && !operand_view(region, plan, of_a);
    return FmaProduct::Operand{of_plan.along_k, of_plan.vector, is_computed ? kComputed : kView,
                               is_computed};
  };
  product.a = operand(true);
  product.b = operand(false);
  product.element = size_bytes(plan.accumulator);
  product.fold = plan.fold;
  // An operand's element as it lies in memory; a prologue of several inputs reads as much more.
  product.operand_bytes = 0;
  for (const ir::Value* input : region.anchor->inputs)
    if (input)
      product.operand_bytes = std::max<double>(product.operand_bytes, size_bytes(input->dtype()));
  product.bytes = region_bytes(region);
  product.epilogue = region_slots(region);
  return product;
}

class FmaCandidate : public RuledCandidate<FmaCase, ProductCandidate> {
 public:
  FmaCandidate(const Template& by, const Region& region, const Target& target, ContractionPlan plan,
               int64_t pack)
      : RuledCandidate(by, region, target, fma_rules(product_of(region, plan, pack), target)),
        plan_(std::move(plan)),
        pack_(pack) {}

 private:
  Config make_default_config() const override {
    std::optional<FmaTile> tile = fastest_tile(rules());
    if (!tile) tile = rules().first();  // a device with little shared memory, or an odd type
    TCC_CHECK(tile, "no legal contraction config on ", target().id());
    return rules().config(*tile);
  }

  ShapeModel shape_model() const override {
    return [product = rules().of().product, target = target()](const FmaTile& tile) {
      return predicted_seconds(tile, product, target);
    };
  }

  // The workgroups of a cluster share the sums of a tile.
  int64_t most_workgroups(const ContractionExtents& product) const override {
    return std::min(8, target().max_cluster) * tiles_of(product, 64, 64);
  }

  KernelSequence lower(const Config& config) const override {
    const Region& region = this->region();
    const ContractionPlan& plan = plan_;
    Kernel kernel = start_kernel(region);
    const int64_t pack = pack_;
    const FmaTile sizes = rules().shape(config);
    const FmaProduct& product = rules().of().product;
    const ContractionTile tile{sizes.block_m, sizes.block_n, sizes.block_k * pack, sizes.segment()};
    const ContractionHooks hooks(region, plan, tile);
    const SymInt tiles_m = ir::ceildiv(plan.m.size(), sizes.block_m),
                 tiles_n = ir::ceildiv(plan.n.size(), sizes.block_n);
    kernel.source = "contraction";
    kernel.workgroup = static_cast<int>(sizes.threads());
    kernel.grid = plan.batch.size() * tiles_m * tiles_n * sizes.cluster;
    kernel.cluster = static_cast<int>(sizes.cluster);
    const int64_t shared = shared_bytes(sizes, product);
    // Static, in the source, where targets have no other.
    kernel.shared_bytes = target().declared_shared_bytes > 0 ? shared : 0;
    kernel.flops = plan.flops();
    auto define = [&](std::string name, int64_t value) {
      kernel.defines.push_back({std::move(name), std::to_string(value)});
    };
    kernel.defines.push_back({"ACC", std::string(info(plan.accumulator).name)});
    for (auto [name, key] : {std::pair{"BLOCK_M", "block_m"},
                             {"BLOCK_N", "block_n"},
                             {"BLOCK_K", "block_k"},
                             {"THREAD_M", "thread_m"},
                             {"THREAD_N", "thread_n"},
                             {"SLICES", "slices"}})
      define(name, config[key]);
    if (target().max_cluster > 1) define("PEERS", sizes.cluster);
    for (const auto& [name, size] : {std::pair{"SIZE_K", ir::ceildiv(plan.k.size(), pack)},
                                     {"TILES_M", tiles_m},
                                     {"TILES_N", tiles_n}})
      if (size.is_const())
        define(name, size.value());
      else
        kernel.counts.push_back({name, size});
    define("A_VECTOR", plan.a.vector);
    define("A_ALONG_K", plan.a.along_k);
    define("B_VECTOR", plan.b.vector);
    define("B_ALONG_K", plan.b.along_k);
    define("SEGMENT", tile.segment);
    define("SHARED_BYTES", shared);
    define("TOTALS_SHARED", totals_are_shared(sizes, product));
    // 0: never. Else the number of k tiles after which partial sums join the total.
    define("FOLD_TILES", fold_tiles(sizes, product));
    define("FLOAT_ACC", is_float(plan.accumulator));
    if (pack > 1) {
      define("PACK", pack);
      if (!mixes_signs(target())) define("SHIFTS_SIGNS", 1);
      kernel.needs.extensions.insert("byte_products");
      for (auto [name, operand] : {std::pair{"A_SIGNED", &plan.a}, {"B_SIGNED", &plan.b}})
        define(name,
               info(region.anchor->inputs[static_cast<size_t>(operand->input)]->dtype()).is_signed);
    }
    kernel.hooks = {hooks.load(true, "load_a"), hooks.load(false, "load_b"), hooks.epilogue()};
    return kernel;
  }

  ContractionPlan plan_;
  int64_t pack_;
};

class ContractionTemplate : public Template {
 public:
  std::string_view name() const override { return "contraction"; }
  int version() const override { return 1; }
  int specificity() const override { return 0; }
  std::vector<Parameter> parameters() const override { return parameters_from(all_fma_fields()); }
  bool takes_open_dims() const override { return true; }

  Match match(const Region& region, const Target& target) const override {
    OrRefusal<ContractionPlan> plan = plan_contraction(region);
    if (!plan) return plan.refusal();
    if (!has_device_source(target, "contraction")) return lacks_source(target, "contraction");
    const int64_t pack = pack_of(region, *plan, target);
    return std::make_shared<const FmaCandidate>(*this, region, target, *std::move(plan), pack);
  }
};

const RegisterTemplate<ContractionTemplate> registered;

}  // namespace

}  // namespace tcc::sched::template_contraction
