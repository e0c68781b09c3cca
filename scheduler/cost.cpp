#include "scheduler/cost.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/append.h"
#include "ir/sizes.h"

namespace tcc::sched {
namespace {

// These are a GPU's. Clock rates differ by less than a factor of two, so times are in seconds.
constexpr double kMemoryLatency = 700e-9;
constexpr double kBarrier = 150e-9;  // with the loads and stores of shared memory around it
constexpr double kWorkgroupStart = 500e-9;
constexpr double kLaunch = 2e-6;
constexpr double kPipeDepth = 4;       // cycles until a result can be used
constexpr double kWarp = 32;           // threads whose access takes one cycle of the pipe
constexpr double kCacheSpeedup = 1.5;  // of the last-level cache over memory
constexpr double kUnitShare = 2.5;     // of the fair share of bandwidth that one unit can draw
constexpr double kPeerBytes = 12;      // a cycle, that a unit sends to others
constexpr double kSharedPerUnit = 4;   // shared memory of a unit, in a workgroup's limits
constexpr double kMaxRegisters = 255;  // of a thread
constexpr double kWorkgroupsPerUnit = 32;

// On a software device a load is a bounds check, an address and an insertion for each lane.
constexpr double kCpuElement = 6;  // operations of one element's access
constexpr double kCpuWorkgroup = 400e-9;
constexpr double kCpuBarrier = 40e-9;  // of one subgroup: its state is saved and restored
constexpr double kCpuLaunch = 20e-6;

// The largest dominates, and close ones get in each other's way.
double soft_max(std::initializer_list<double> times) {
  double sum = 0;
  for (double t : times) sum += t * t * t * t;
  return std::sqrt(std::sqrt(sum));
}

class GpuModel {
 public:
  GpuModel(const LaunchCost& cost, const Target& target)
      : cost_(cost),
        target_(target),
        units_(target.compute_units),
        slots_(cost.cluster > 1
                   ? static_cast<double>(target.concurrent_clusters(cost.cluster) * cost.cluster)
                   : units_),
        rate_(target.flops_f32 / 2 / units_) {}

  double seconds() const {
    const double resident = this->resident();
    if (resident < 1) return std::numeric_limits<double>::infinity();
    const double busiest = std::ceil(cost_.workgroups / slots_);
    const double rounds = std::floor(busiest / resident);
    // With many rounds compute units run out of step, and the last round fills up.
    const double full = rounds >= 8 ? cost_.workgroups / slots_ / resident : rounds;
    const double rest = rounds >= 8 ? 0 : busiest - rounds * resident;
    double time = kLaunch + kWorkgroupStart;
    if (full > 0) time += full * round_seconds(resident);
    if (rest > 0) time += round_seconds(rest);
    return time;
  }

 private:
  double resident() const {
    const double threads = std::ceil(cost_.threads / target_.subgroup_size) * target_.subgroup_size;
    const double registers = std::min(cost_.registers, kMaxRegisters);
    double n = std::min(kWorkgroupsPerUnit, std::floor(target_.max_threads_per_unit / threads));
    n = std::min(n, std::floor(target_.registers_per_unit / (registers * threads)));
    if (cost_.shared_bytes > 0) {
      const double shared = kSharedPerUnit * static_cast<double>(target_.static_shared_bytes());
      n = std::min(n, std::floor(shared / cost_.shared_bytes));
    }
    // A workgroup that is legal runs, if need be with registers in memory.
    return std::max(n, 1.0);
  }

  // Models `count` workgroups side by side on one compute unit.
  double round_seconds(double count) const {
    const double share = count / cost_.workgroups;  // of the launch
    const double threads = count * cost_.threads;
    // A workgroup's threads share the registers of a unit.
    const double registers = std::min(kMaxRegisters, target_.registers_per_unit / cost_.threads);
    const double spilled = std::max(0.0, cost_.registers - registers) / 32;
    const double busy =
        std::min(1.0, threads * cost_.parallelism / (target_.fma_lanes * kPipeDepth));
    const double issue = share * cost_.arithmetic * (1 + spilled) / (rate_ * busy);
    const double clock = rate_ / target_.fma_lanes;
    const double pipe = share * (cost_.accesses / kWarp + cost_.bank_cycles) / clock;
    const double active = std::min<double>(units_, std::max(1.0, cost_.workgroups / count));
    const double bandwidth =
        std::min(target_.bandwidth / active, kUnitShare * target_.bandwidth / units_);
    const double memory = share * cost_.memory_bytes / bandwidth;
    const double cache = share * cost_.cache_bytes / (bandwidth * kCacheSpeedup);
    const double drawn = threads * cost_.bytes_in_flight / kMemoryLatency;
    const double waiting = share * cost_.cache_bytes / drawn;
    const double chain = cost_.round_trips * kMemoryLatency;
    // While one workgroup waits at a barrier, only the others work.
    const double stalled = cost_.barriers * kBarrier / count + cost_.stalls * kMemoryLatency +
                           cost_.first_share * std::max(memory, cache) +
                           share * cost_.peer_bytes / (kPeerBytes * clock);
    return soft_max({issue, pipe, memory, cache, waiting, chain}) + stalled;
  }

  const LaunchCost& cost_;
  const Target& target_;
  double units_;
  double slots_;  // units that workgroups reach: clusters leave some of a group of units idle
  double rate_;   // operations per second of one unit
};

double cpu_seconds(const LaunchCost& cost, const Target& target) {
  const double units = target.compute_units;
  // Registers are few; what spills stays in the first cache.
  const double spilled = std::max(0.0, cost.registers - 160) / 160;
  const double operations = cost.arithmetic * (1 + spilled) + kCpuElement * cost.elements;
  const double subgroups = std::ceil(cost.threads / target.subgroup_size);
  // Lanes without a thread run along.
  const double lanes = subgroups * target.subgroup_size / cost.threads;
  const double computing = operations * lanes / (target.flops_f32 / 2);
  const double serial =
      cost.workgroups * (kCpuWorkgroup + cost.barriers * subgroups * kCpuBarrier) / units;
  const double imbalance = std::ceil(cost.workgroups / units) / (cost.workgroups / units);
  return kCpuLaunch + (computing + serial) * imbalance + cost.memory_bytes / target.bandwidth;
}

}  // namespace

double predicted_seconds(const LaunchCost& cost, const Target& target) {
  return target.serial_workgroups ? cpu_seconds(cost, target) : GpuModel(cost, target).seconds();
}

double launch_seconds(const Target& target) {
  return target.serial_workgroups ? kCpuLaunch : kLaunch + kWorkgroupStart;
}

double operation_rate(const Target& target) { return target.flops_f32 / 2; }

double cache_bandwidth(const Target& target) {
  return target.serial_workgroups ? target.bandwidth : target.bandwidth * kCacheSpeedup;
}

double unit_bandwidth(const Target& target) {
  const double share = target.bandwidth / target.compute_units;
  return target.serial_workgroups ? share : std::min(target.bandwidth, kUnitShare * share);
}

namespace {

// Those of the buffer, but of what is appended the rows.
SymInt stored_elements(const Region& region, const ir::Value* output) {
  const bool is_part = output->producer && ir::appends(*output->producer);
  return is_part ? ir::stored_elements(output) : region.layout(output).elements;
}

}  // namespace

double region_bytes(const Region& region) {
  double bytes = 0;
  for (const ir::Value* value : region.inputs)
    bytes +=
        static_cast<double>(region.layout(value).elements.usual()) * size_bytes(value->dtype());
  for (const ir::Value* value : region.outputs)
    bytes +=
        static_cast<double>(stored_elements(region, value).usual()) * size_bytes(value->dtype());
  return bytes;
}

SymInt least_bytes(const Region& region) {
  SymInt bytes = 0, written = 0;
  for (const ir::Value* value : region.outputs) {
    const SymInt elements = stored_elements(region, value);
    bytes = bytes + elements * size_bytes(value->dtype());
    written = written + elements;
  }
  for (const ir::Value* value : region.inputs) {
    SymInt elements = region.layout(value).elements;
    if (!region.anchor) elements = ir::min(elements, written);
    bytes = bytes + elements * size_bytes(value->dtype());
  }
  return bytes;
}

}  // namespace tcc::sched
