// Scans (cumsum): a group of threads per line, which walks it tile by tile; across memory, threads
// take neighbouring lines.
#include <algorithm>
#include <cmath>

#include "scheduler/cost.h"
#include "scheduler/split_scan.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/scan_lowering.h"
#include "scheduler/templates/scan_plan.h"
#include "scheduler/work.h"
#include "support/checked.h"

namespace tcc::sched::template_scan {
namespace {

class Lines : public Candidate {
 public:
  Lines(const Template& by, const Region& region, const Target& target, ScanPlan plan)
      : Candidate(by, region, target), plan_(std::move(plan)) {}

  KernelSequence lower(const Config& config) const override {
    return lower_scan(region(), plan_, config);
  }

  // Few long lines in parts that fill the device; the number that divides the line comes first.
  std::vector<Alternative> alternatives(AlternativeStage stage) const override {
    constexpr int64_t kShortestPart = 4096;  // a workgroup's few tiles
    constexpr int64_t kSpread = 4;  // parts that divide the line are at most so many times as many
    const bool is_open = !plan_.lines.is_const() || !plan_.length.is_const();
    if (stage != AlternativeStage::primitives || is_open || plan_.is_empty()) return {};
    const int64_t units = target().compute_units, lines = plan_.lines.value(),
                  length = plan_.length.value();
    if (lines * 2 > units) return {};
    const int64_t wanted = std::min(2 * units / lines, length / kShortestPart);
    if (wanted < 2) return {};
    Alternative split;
    split.kind = "split_scan";
    split.choices = {wanted};
    for (int64_t parts = wanted; parts <= kSpread * wanted; ++parts)
      if (length % parts == 0) {
        split.choices.front() = parts;
        break;
      }
    split.choices.push_back(1);
    split.description = str(plan_.node->op_name(), " of ", lines, " lines of ", length, " ",
                            name(plan_.node->inputs[0]->dtype()), ": parts of a line");
    split.rewrite = split_scan;
    return {std::move(split)};
  }

 private:
  ConfigSpace make_space() const override {
    const Target& target = this->target();
    const ScanPlan& plan = plan_;
    ConfigSpace space;
    space.parameters = kernel_template().parameters();
    space.constraints = {
        {str("a workgroup has ", fewest_threads(target),
             " to 1024 threads, and no more than the device allows"),
         [fewest = fewest_threads(target),
          max = std::min<int64_t>(target.max_workgroup_size, 1024)](const Config& c) {
           const int64_t threads = c["row_threads"] * c["rows"];
           return threads >= fewest && threads <= max;
         }},
        {"no more threads than items in a line",
         [length = plan.length.range().hi](const Config& c) {
           return c["row_threads"] <= power_of_two_at_least(ceil_div(length, c["items"]));
         }},
        {"shared memory", [bytes = target.static_shared_bytes()](const Config& c) {
           return c["row_threads"] * c["rows"] * 8 <= bytes;
         }}};
    return space;
  }

  // Vectors of 16 bytes where they divide the line, and as many threads as it has, or more lines.
  Config make_default_config() const override {
    const Target& target = this->target();
    const ScanPlan& plan = plan_;
    const bool serial = target.serial_workgroups;
    const int64_t fewest = fewest_threads(target);
    const int64_t length = std::max<int64_t>(plan.length.usual(), 1), lines = plan.lines.usual();
    const int64_t most = std::min<int64_t>(target.max_workgroup_size,
                                           serial ? fewest : int64_t{target.full_workgroup});
    if (!plan.along_memory) {
      // One thread walks a line, unless lines are few.
      int64_t row_threads = 1, rows = serial ? fewest : std::min(most, int64_t{64});
      const int64_t wanted = int64_t{target.compute_units} * 64;
      while (!serial && rows > 8 && lines * row_threads < wanted && row_threads * 2 * 8 <= length) {
        row_threads *= 2;
        if (rows * row_threads > most) rows /= 2;
      }
      const int64_t items =
          std::min<int64_t>(8, power_of_two_at_least(ceil_div(length, row_threads)));
      while (rows * row_threads < fewest) rows *= 2;
      return {{"row_threads", row_threads}, {"rows", rows}, {"items", items}};
    }
    int64_t items = target.wide_accesses ? 16 / size_bytes(plan.node->inputs[0]->dtype()) : 8;
    items = std::clamp<int64_t>(items, 4, 16);
    while (items > 1 && length < 4 * items) items /= 2;
    // Longer lines give each thread more, in whole vectors.
    if (items < 8 && length >= 2048) items = 8;
    while (items > 4 && !plan.length.divisible_by(items) && plan.length.divisible_by(items / 2))
      items /= 2;
    const int64_t row_threads = std::min(most, power_of_two_at_least(ceil_div(length, items)));
    int64_t rows = 1;
    while (rows * row_threads < (serial ? fewest : std::min(most, int64_t{128}))) rows *= 2;
    return {{"row_threads", row_threads}, {"rows", rows}, {"items", items}};
  }

  CostModel make_cost_model() const override {
    const Region& region = this->region();
    const ScanPlan& plan = plan_;
    const auto length = static_cast<double>(std::max<int64_t>(1, plan.length.usual())),
               lines = static_cast<double>(plan.lines.usual());
    const double arithmetic = region_slots(region), bytes = region_bytes(region);
    const double stored = size_bytes(plan.node->outputs[0]->dtype());
    return [=, target = target(), plan = plan_](const Config& c) {
      const auto row_threads = static_cast<double>(c["row_threads"]),
                 rows = static_cast<double>(c["rows"]), items = static_cast<double>(c["items"]);
      LaunchCost cost;
      cost.threads = row_threads * rows;
      cost.workgroups = std::max(1.0, std::ceil(lines / rows));
      const double tiles = std::ceil(length / (row_threads * items));
      const double vectors = cost.workgroups * cost.threads * tiles;  // of one thread, in all
      const double covered = vectors * items;
      const bool whole = plan.length.divisible_by(c["items"]);
      const double combined = row_threads > 1 ? 4 * std::log2(row_threads) + 8 : 0;
      cost.arithmetic = arithmetic + covered * (whole ? 3 : 8) + vectors * (12 + combined);
      const double accesses = whole && plan.along_memory ? std::ceil(items * stored / 16) : items;
      cost.accesses = vectors * (2 * accesses + (row_threads > 32 ? row_threads / 32 : 0));
      // Items of one thread are apart from those of its neighbours.
      cost.bank_cycles = plan.along_memory ? 2 * covered / 32 * (whole ? 1 : items - 1)
                                           : (rows < 32 ? 2 * covered / 32 * (32 / rows - 1) : 0);
      cost.elements = 2 * covered;
      cost.memory_bytes = cost.cache_bytes = bytes;
      cost.registers = 24 + 2 * items;
      cost.shared_bytes = row_threads > 1 ? cost.threads * 8 : 0;
      cost.bytes_in_flight = items * stored;
      cost.round_trips = tiles;
      cost.barriers = row_threads > 1 ? tiles * (row_threads > 32 ? 2 : 0) : 0;
      cost.parallelism = 1;
      return predicted_seconds(cost, target);
    };
  }

  ScanPlan plan_;
};

class Scan : public Template {
 public:
  std::string_view name() const override { return "scan"; }
  int version() const override { return 2; }
  int specificity() const override { return 0; }
  std::vector<Parameter> parameters() const override {
    return {
        {"row_threads", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}, "threads that share a line"},
        {"rows", {1, 2, 4, 8, 16, 32, 64, 128, 256}, "lines of a workgroup"},
        {"items", {1, 2, 4, 8, 16}, "neighbouring elements of a thread"},
    };
  }
  int least_workgroup() const override { return 1; }
  bool takes_open_dims() const override { return true; }

  Match match(const Region& region, const Target& target) const override {
    OrRefusal<ScanPlan> plan = plan_scan(region);
    if (!plan) return plan.refusal();
    return std::make_shared<const Lines>(*this, region, target, *std::move(plan));
  }
};

const RegisterTemplate<Scan> registered;

}  // namespace

}  // namespace tcc::sched::template_scan
