// Contractions (matrix products and convolutions) on FMA units: the loops are device source,
// backends/device/*/ contraction.*; what a region adds to them (index maps, prologue, epilogue) are
// its hooks.
#include <algorithm>
#include <cmath>

#include "scheduler/cost.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/contraction_hooks.h"
#include "scheduler/templates/contraction_plan.h"
#include "scheduler/templates/product_candidate.h"
#include "scheduler/work.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

// Products that are summed in one go before they join the total, where the result is as wide as the
// accumulator.
constexpr int64_t kFold = 128;

int64_t threads_of(const Config& c) {
  return c["block_m"] / c["thread_m"] * (c["block_n"] / c["thread_n"]);
}

// Two tiles of each operand; rows are padded by 4 against bank conflicts.
int64_t shared_bytes_of(const Config& c, int element) {
  return 2 * c["block_k"] * (c["block_m"] + c["block_n"] + 8) * element;
}

// Products that one instruction takes, of neighbours along k: dp4a of CUDA sums four products of
// bytes. A zero point that is subtracted before the product leaves bytes. Where that is slow, the
// sums of A's rows and B's columns correct the product of the bytes as they are:
// sum((a - p)(b - q)) = sum(ab) - q sum(a) - p sum(b) + k p q.
int64_t pack_of(const Region& region, const ContractionPlan& plan, const Target& target) {
  const auto dtype_of = [&](int operand) {
    return region.anchor->inputs[static_cast<size_t>(operand)]->dtype();
  };
  const bool packs = target.byte_products && is_integer(plan.accumulator) &&
                     size_bytes(plan.accumulator) == 4 && is_byte(dtype_of(plan.a.input)) &&
                     is_byte(dtype_of(plan.b.input));
  return packs ? 4 : 1;
}

class FmaProduct : public ProductCandidate {
 public:
  FmaProduct(const Template& by, const Region& region, const Target& target, ContractionPlan plan)
      : ProductCandidate(by, region, target),
        plan_(std::move(plan)),
        pack_(pack_of(region, plan_, target)) {}

 private:
  ConfigSpace make_space() const override {
    const Target& target = this->target();
    const ContractionPlan& plan = plan_;
    ConfigSpace space;
    space.parameters = {
        {"block_m", {8, 16, 32, 64, 128, 256}, "rows of a workgroup's tile"},
        {"block_n", {8, 16, 32, 64, 128, 256}, "columns of a workgroup's tile"},
        {"block_k", {8, 16, 32}, "products (of bytes: words) summed between two barriers"},
        {"thread_m", {1, 2, 4, 8}, "rows of a thread's tile"},
        {"thread_n", {1, 2, 4, 8}, "columns of a thread's tile"},
    };
    space.constraints = {
        {"a workgroup has 32 to 512 threads, and no more than the device allows",
         [max = std::min(512, target.max_workgroup_size)](const Config& c) {
           return c["block_m"] >= c["thread_m"] && c["block_n"] >= c["thread_n"] &&
                  threads_of(c) >= 32 && threads_of(c) <= max;
         }},
        {"the tiles fit into shared memory",
         [plan, bytes = target.static_shared_bytes()](const Config& c) {
           return shared_bytes_of(c, size_bytes(plan.accumulator)) <= bytes;
         }},
        {"tiles are made of whole vectors",
         [plan, pack = pack_](const Config& c) {
           const int64_t k = c["block_k"] * pack;
           return (plan.a.along_k ? k : c["block_m"]) % plan.a.vector == 0 &&
                  (plan.b.along_k ? k : c["block_n"]) % plan.b.vector == 0;
         }},
    };
    return space;
  }

  Config make_default_config() const override {
    // The tile whose waves over the device cost least: large tiles reuse more, small ones fill the
    // device.
    struct Tile {
      int64_t block_m, block_n, block_k, thread_m, thread_n;
      double efficiency;  // of the FMA units, on a full device
    };
    static constexpr Tile kGpu[] = {
        {32, 128, 16, 8, 4, 1.0}, {128, 128, 8, 8, 8, 0.9}, {128, 64, 8, 8, 8, 0.9},
        {64, 64, 16, 8, 4, 0.85}, {64, 32, 16, 4, 4, 0.55}, {32, 64, 16, 4, 4, 0.55},
        {32, 32, 16, 4, 2, 0.4},  {16, 64, 16, 2, 4, 0.35}, {64, 16, 16, 4, 2, 0.35},
        {16, 32, 16, 2, 2, 0.25}, {8, 64, 16, 1, 8, 0.25},  {16, 16, 32, 2, 2, 0.15},
    };
    static constexpr Tile kCpu[] = {
        {32, 32, 16, 4, 8, 1.0}, {64, 32, 16, 8, 8, 1.0}, {16, 32, 16, 2, 8, 0.8},
        {32, 16, 16, 4, 4, 0.7}, {16, 16, 16, 2, 4, 0.5}, {8, 32, 16, 1, 8, 0.5},
    };
    const Target& target = this->target();
    const ContractionPlan& plan = plan_;
    const ConfigSpace& legal = space();
    Config best;
    double best_cost = 0;
    auto consider = [&](const Tile& c) {
      Config config{{"block_m", c.block_m},
                    {"block_n", c.block_n},
                    {"block_k", c.block_k},
                    {"thread_m", c.thread_m},
                    {"thread_n", c.thread_n}};
      if (!legal.violation(config).empty()) return;
      double tiles = static_cast<double>(plan.batch.size().usual() *
                                         ceil_div(plan.m.size().usual(), c.block_m) *
                                         ceil_div(plan.n.fixed_size(), c.block_n));
      double resident = std::max(1.0, 512.0 / static_cast<double>(threads_of(config)));
      double waves = std::max(std::ceil(tiles / target.compute_units) / resident,
                              tiles / (target.compute_units * resident));
      waves = std::max(waves, 1.0 / resident);
      double cost = waves * resident * static_cast<double>(c.block_m * c.block_n) / c.efficiency;
      if (best.values().empty() || cost < best_cost) {
        best = config;
        best_cost = cost;
      }
    };
    if (target.serial_workgroups)
      for (const Tile& c : kCpu) consider(c);
    else
      for (const Tile& c : kGpu) consider(c);
    if (best.values().empty())  // a device with little shared memory, or an odd type
      legal.enumerate([&](const Config& config) {
        best = config;
        return false;
      });
    TCC_CHECK(!best.values().empty(), "no legal contraction config on ", target.id());
    return best;
  }

  CostModel make_cost_model() const override {
    const Region& region = this->region();
    const ContractionPlan& plan = plan_;
    const double epilogue = region_slots(region), bytes = region_bytes(region);
    const int element = size_bytes(plan.accumulator);
    // An operand's element as it lies in memory; a prologue of several inputs reads as much more.
    double operand_bytes = 0;
    for (const ir::Value* input : region.anchor->inputs)
      if (input) operand_bytes = std::max<double>(operand_bytes, size_bytes(input->dtype()));
    const auto batch = static_cast<double>(plan.batch.size().usual());
    return [=, target = target(), m = plan.m.size().usual(), n = plan.n.fixed_size(),
            k = ceil_div(plan.k.fixed_size(), pack_), fold = plan.fold,
            a_vector = static_cast<double>(plan.a.vector),
            b_vector = static_cast<double>(plan.b.vector)](const Config& c) {
      const auto block_m = static_cast<double>(c["block_m"]),
                 block_n = static_cast<double>(c["block_n"]),
                 block_k = static_cast<double>(c["block_k"]),
                 thread_m = static_cast<double>(c["thread_m"]),
                 thread_n = static_cast<double>(c["thread_n"]);
      LaunchCost cost;
      cost.threads = static_cast<double>(threads_of(c));
      cost.workgroups =
          batch * static_cast<double>(ceil_div(m, c["block_m"]) * ceil_div(n, c["block_n"]));
      cost.shared_bytes = static_cast<double>(shared_bytes_of(c, element));
      const auto k_tiles = static_cast<double>(ceil_div(k, c["block_k"]));
      const double tiles = cost.workgroups * k_tiles;
      const double threads = cost.workgroups * cost.threads;
      const double products = tiles * block_k * block_m * block_n;
      // Reads of shared memory, one product step of one thread: vectors of four where they align.
      const double parts = std::ceil(thread_m / 4) + std::ceil(thread_n / 4);
      const double product_steps = threads * k_tiles * block_k;
      // A subgroup's rows of A and columns of B: threads on the same ones share a read, but the
      // pipe takes a cycle for each 32-bit word that a thread gets.
      const double across = block_n / thread_n, words = element / 4.0;
      const double rows_bytes = std::max(1.0, 32 / across) * thread_m * element;
      const double cols_bytes = std::min(32.0, across) * thread_n * element;
      const double cycles = std::max(thread_m * words, std::ceil(rows_bytes / 128)) +
                            std::max(thread_n * words, std::ceil(cols_bytes / 128));
      // Loads of tiles: whole vectors to registers, then element by element into shared memory.
      const double moved = tiles * block_k * (block_m + block_n);
      const double vectors = tiles * block_k * (block_m / a_vector + block_n / b_vector);
      cost.accesses = product_steps * parts + vectors + moved;
      cost.bank_cycles = product_steps / 32 * (cycles - parts) + moved / 32;
      cost.elements = 2 * moved + product_steps * (thread_m + thread_n) / 2;
      const double folding = fold ? product_steps * thread_m * thread_n / 128 : 0;
      // Index maps and bounds of each vector, loop overhead of each tile.
      cost.arithmetic = products + folding + 16 * vectors + 20 * threads * k_tiles + epilogue +
                        8 * threads * thread_m;
      cost.memory_bytes = bytes;
      cost.cache_bytes = bytes + moved * operand_bytes;
      const double staged = block_k * (block_m + block_n) / cost.threads;
      cost.registers = 32 + thread_m * thread_n * (fold ? 2 : 1) + 2 * (thread_m + thread_n) +
                       std::max(staged, 2.0);
      // The next tile is on its way while one is multiplied. Tiles that others read too come from
      // the cache, in less than half of memory's time.
      constexpr double kCached = 0.4;
      cost.bytes_in_flight = std::max(4.0, staged * operand_bytes) / kCached;
      cost.round_trips = 1 + kCached * k_tiles;
      cost.barriers = k_tiles;
      cost.parallelism = std::min(8.0, thread_m * thread_n);
      return predicted_seconds(cost, target);
    };
  }

 public:
  KernelSequence lower(const Config& config) const override {
    const Region& region = this->region();
    const ContractionPlan& plan = plan_;
    Kernel kernel = start_kernel(region);
    // Four f32 are what one shared-memory access brings: neighbouring threads on neighbouring
    // segments hit all banks.
    const int64_t pack = pack_;
    const ContractionTile tile{config["block_m"], config["block_n"], config["block_k"] * pack,
                               std::min<int64_t>(config["thread_n"], 4)};
    const ContractionHooks hooks(region, plan, tile);
    const int64_t n = plan.n.fixed_size(), k = plan.k.fixed_size();
    const SymInt tiles_m = ir::ceildiv(plan.m.size(), config["block_m"]),
                 tiles_n = ceil_div(n, config["block_n"]);
    kernel.source = "contraction";
    kernel.workgroup = static_cast<int>(threads_of(config));
    kernel.grid = plan.batch.size() * tiles_m * tiles_n;
    kernel.shared_bytes = 0;  // static, in the source
    kernel.flops = plan.flops();
    auto define = [&](std::string name, int64_t value) {
      kernel.defines.push_back({std::move(name), std::to_string(value)});
    };
    kernel.defines.push_back({"ACC", std::string(info(plan.accumulator).name)});
    for (auto [name, key] : {std::pair{"BLOCK_M", "block_m"},
                             {"BLOCK_N", "block_n"},
                             {"BLOCK_K", "block_k"},
                             {"THREAD_M", "thread_m"},
                             {"THREAD_N", "thread_n"}})
      define(name, config[key]);
    define("SIZE_K", ceil_div(k, pack));
    if (tiles_m.is_const())
      define("TILES_M", tiles_m.value());
    else
      kernel.defines.push_back({"TILES_M", "tiles_m(TCC_BUFFERS 0)"});
    define("TILES_N", tiles_n.value());
    define("A_VECTOR", plan.a.vector);
    define("A_ALONG_K", plan.a.along_k);
    define("B_VECTOR", plan.b.vector);
    define("B_ALONG_K", plan.b.along_k);
    define("SEGMENT", tile.segment);
    define("TILE_BYTES", shared_bytes_of(config, size_bytes(plan.accumulator)));
    // 0: never. Else the number of k tiles after which partial sums join the total.
    define("FOLD_TILES", plan.fold && k > kFold ? kFold / config["block_k"] : 0);
    define("FLOAT_ACC", is_float(plan.accumulator));
    if (pack > 1) {
      define("PACK", pack);
      for (auto [name, operand] : {std::pair{"A_SIGNED", &plan.a}, {"B_SIGNED", &plan.b}})
        define(name,
               info(region.anchor->inputs[static_cast<size_t>(operand->input)]->dtype()).is_signed);
    }
    kernel.hooks = {hooks.load(true, "load_a"), hooks.load(false, "load_b"), hooks.epilogue()};
    if (!tiles_m.is_const()) kernel.hooks.push_back(hooks.tiles_m("tiles_m"));
    return kernel;
  }

 private:
  ContractionPlan plan_;
  int64_t pack_;
};

class ContractionTemplate : public Template {
 public:
  std::string_view name() const override { return "contraction"; }
  int version() const override { return 1; }
  int specificity() const override { return 0; }
  // Rows and batches may be open: tiles of columns and steps of sums are counted in numbers.
  bool takes_open_dims() const override { return true; }

  Match match(const Region& region, const Target& target) const override {
    OrRefusal<ContractionPlan> plan = plan_contraction(region);
    if (!plan) return plan.refusal();
    if (!plan->n.size().is_const() || !plan->k.size().is_const())
      return Refusal{str(region.anchor->op_name(), " of ", plan->n.size(), " columns and sums of ",
                         plan->k.size(), " products, which its kernels need as numbers")};
    return std::make_shared<const FmaProduct>(*this, region, target, *std::move(plan));
  }
};

const RegisterTemplate<ContractionTemplate> registered;

}  // namespace

}  // namespace tcc::sched
